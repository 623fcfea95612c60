package credentials_test

import (
	"context"
	"crypto/rand"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/access/credentials"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// browser is a session of an account.
type browser struct {
	account string
	cookie  session.Cookie
	opened  time.Time
}

func (b browser) credential() credentials.Credential {
	return credentials.Credential{Account: b.account, Kind: credentials.Session, Name: b.cookie.ID}
}

// signIn opens a session.
func (w *world) signIn(id string) browser {
	w.t.Helper()
	opened, _, err := w.sessions.Open(w.t.Context(), id, session.Client{}, journal.System())
	require.NoError(w.t, err)
	cookie, ok := session.ParseCookie(opened.Cookie)
	require.True(w.t, ok)
	state, _, err := w.sessions.State(w.t.Context(), opened.ID)
	require.NoError(w.t, err)
	return browser{account: id, cookie: cookie, opened: state.OpenedAt}
}

func (w *world) signOut(b browser) {
	w.t.Helper()
	_, err := w.sessions.End(w.t.Context(), b.account, b.cookie.ID, journal.System())
	require.NoError(w.t, err)
}

// happens appends events to the stream of a session.
func (w *world) happens(id string, events ...any) {
	w.t.Helper()
	_, revision, err := w.sessions.State(w.t.Context(), id)
	require.NoError(w.t, err)
	proposed, err := w.registry.Encode(uuid.New(), 0, eventlog.Metadata{Actor: operator.Actor, Time: time.Now()},
		events...)
	require.NoError(w.t, err)
	_, err = w.log.Append(w.t.Context(), session.Stream(id), revision, proposed)
	require.NoError(w.t, err)
}

func requireSignedIn(t require.TestingT, w *credentials.Watcher, b browser) {
	found, err := w.FindSession(context.Background(), b.cookie)
	require.NoError(t, err)
	require.Equal(t, b.credential(), found.Credential)
	require.EqualValues(t, "indie", found.Entitlement.Plan)
}

func requireSignedOut(t require.TestingT, w *credentials.Watcher, b browser) {
	_, err := w.FindSession(context.Background(), b.cookie)
	require.ErrorIs(t, err, credentials.ErrUnknownSession)
}

func isSignedOut(w *credentials.Watcher, b browser) func() bool {
	return func() bool {
		_, err := w.FindSession(context.Background(), b.cookie)
		return domain.CodeOf(err) == domain.Unauthenticated
	}
}

// requireRemembered looks a session up until it is cached.
func requireRemembered(t *testing.T, w *credentials.Watcher, b browser) {
	t.Helper()
	eventually(t, func() bool {
		before := w.Stats().Hits
		requireSignedIn(t, w, b)
		return w.Stats().Hits > before
	}, "the session is never cached")
}

func watchBrowser(w *credentials.Watcher, b browser) *atomic.Int64 {
	told := &atomic.Int64{}
	w.Watch(b.credential(), b.opened, func() { told.Add(1) })
	return told
}

func TestASessionIsCachedUntilItEnds(t *testing.T) {
	w := newWorld(t)
	watcher := w.watcher(w.config())
	of := w.open()
	b, other := w.signIn(of.account), w.signIn(of.account)
	requireRemembered(t, watcher, b)
	requireRemembered(t, watcher, other)
	told, ofOther := watchBrowser(watcher, b), watchBrowser(watcher, other)

	w.signOut(b)
	eventually(t, isSignedOut(watcher, b))
	eventually(t, func() bool { return told.Load() == 1 })
	requireSignedOut(t, watcher, b)
	requireSignedIn(t, watcher, other)
	requireFound(t, watcher, of)
	require.Zero(t, ofOther.Load())
	require.EqualValues(t, 1, watchBrowser(watcher, b).Load(), "a late watch ends at once")
}

func TestASessionNeedsItsSecret(t *testing.T) {
	w := newWorld(t)
	for name, watcher := range map[string]*credentials.Watcher{"known": w.watcher(w.strictly()),
		"read": w.watcher(w.strictly())} {
		t.Run(name, func(t *testing.T) {
			b := w.signIn(w.open().account)
			if name == "known" {
				requireRemembered(t, watcher, b)
			}
			other, stranger := b, b
			other.cookie.Secret = w.signIn(b.account).cookie.Secret
			drawn, err := session.DrawCookie(rand.Reader)
			require.NoError(t, err)
			stranger.cookie = drawn
			requireSignedOut(t, watcher, other)
			requireSignedOut(t, watcher, stranger)
			requireSignedIn(t, watcher, b)
		})
	}
}

func TestAllSessionsOfAnAccountAreRevokedAtOnce(t *testing.T) {
	// given sessions and a key of an account, all of them cached
	w := newWorld(t)
	watcher := w.watcher(w.config())
	of, stranger := w.open(), w.signIn(w.open().account)
	one, two := w.signIn(of.account), w.signIn(of.account)
	for _, b := range []browser{one, two, stranger} {
		requireRemembered(t, watcher, b)
	}
	requireCached(t, watcher, of)
	ofOne, ofTwo, ofStranger := watchBrowser(watcher, one), watchBrowser(watcher, two), watchBrowser(watcher, stranger)
	ofKey, _ := watch(watcher, of)

	// when the account revokes its sessions, and opens another one
	_, err := w.accounts.RevokeSessions(t.Context(), of.account, journal.System())
	require.NoError(t, err)
	three := w.signIn(of.account)

	// then the earlier ones have ended, with their watches
	eventually(t, isSignedOut(watcher, one))
	requireSignedOut(t, watcher, two)
	eventually(t, func() bool { return ofOne.Load() == 1 && ofTwo.Load() == 1 })
	require.EqualValues(t, 1, watchBrowser(watcher, one).Load(), "a late watch ends at once")

	// and no others
	requireSignedIn(t, watcher, three)
	requireSignedIn(t, watcher, stranger)
	requireFound(t, watcher, of)
	require.Zero(t, watchBrowser(watcher, three).Load())
	require.Zero(t, ofStranger.Load())
	require.Zero(t, ofKey.Load())
}

func TestASessionEndsWithItsAccount(t *testing.T) {
	w := newWorld(t)
	watcher := w.watcher(w.config())
	b := w.signIn(w.open().account)
	requireRemembered(t, watcher, b)
	told := watchBrowser(watcher, b)
	require.NoError(t, w.write(b.account, account.Closed{Account: b.account, At: time.Now()}))
	eventually(t, isSignedOut(watcher, b))
	eventually(t, func() bool { return told.Load() == 1 })
	requireSignedOut(t, watcher, b)
	require.EqualValues(t, 1, watchBrowser(watcher, b).Load())
}

// replaced is the event that gives a session another secret.
func replaced(b browser, next session.Cookie, at time.Time) session.Event {
	return session.Rotated{
		Session: b.cookie.ID, Account: b.account, SecretHash: next.Hash(), FormerHash: b.cookie.Hash(),
		OpenedAt: at.Add(-time.Hour), ExpiresAt: at.Add(24 * time.Hour), At: at,
	}
}

// The browser may send its new secret to another instance before that instance has received the event.
func TestAnInstanceThatIsBehindAcceptsANewSecret(t *testing.T) {
	w := newWorld(t)
	config := w.config()
	config.Lease = patience // it considers its cache fresh
	watcher := w.watcher(config)
	b := w.signIn(w.open().account)
	requireRemembered(t, watcher, b)

	w.stall()
	next, err := b.cookie.Renewed(rand.Reader)
	require.NoError(t, err)
	w.happens(b.cookie.ID, replaced(b, next, time.Now()))
	renewed := b
	renewed.cookie = next
	requireSignedIn(t, watcher, renewed)
	requireSignedIn(t, watcher, b)
}

func TestAReplacedSecretIsRefusedAfterAMoment(t *testing.T) {
	w := newWorld(t)
	watcher := w.watcher(w.strictly())
	b := w.signIn(w.open().account)
	next, err := b.cookie.Renewed(rand.Reader)
	require.NoError(t, err)
	w.happens(b.cookie.ID, replaced(b, next, time.Now().Add(-session.Overlap)))
	requireSignedOut(t, watcher, b)
	b.cookie = next
	requireSignedIn(t, watcher, b)
}

func TestASessionThatIsNotUsedOrIsTooOldIsUnknown(t *testing.T) {
	w := newWorld(t)
	config := w.strictly()
	config.Idle = 20 * time.Minute
	watcher := w.watcher(config)
	open := func(opened, expires time.Duration) browser {
		cookie, err := session.DrawCookie(rand.Reader)
		require.NoError(t, err)
		b := browser{account: w.open().account, cookie: cookie, opened: time.Now().Add(opened)}
		w.happens(cookie.ID, session.Opened{
			Session: cookie.ID, Account: b.account, SecretHash: cookie.Hash(), Provider: "idp_1", At: b.opened,
			ExpiresAt: time.Now().Add(expires),
		})
		return b
	}
	idle, used, expired := open(-time.Hour, time.Hour), open(-time.Hour, time.Hour), open(-time.Hour, 0)
	for _, b := range []browser{used, expired} {
		w.happens(b.cookie.ID, session.Seen{Session: b.cookie.ID, Account: b.account, At: time.Now().Add(-time.Minute)})
	}
	requireSignedOut(t, watcher, idle)
	requireSignedOut(t, watcher, expired)
	requireSignedIn(t, watcher, used)
}

func TestReadsContinueWithASessionWhileTheLogIsSilent(t *testing.T) {
	w := newWorld(t)
	config := w.config()
	config.Outage, config.Silent = patience, 50*time.Millisecond
	watcher := w.watcher(config)
	b := w.signIn(w.open().account)
	requireRemembered(t, watcher, b)
	wrong := b.cookie
	wrong.Secret = w.signIn(b.account).cookie.Secret
	watcher.ReadSessionsFrom(silent{})
	w.cut()

	found, err := watcher.FindSessionToRead(t.Context(), b.cookie)
	require.NoError(t, err)
	require.Equal(t, b.credential(), found.Credential)
	_, err = watcher.FindSessionToRead(t.Context(), wrong)
	require.Equal(t, domain.Unavailable, domain.CodeOf(err), "the secret may have been replaced")
	eventually(t, func() bool {
		_, err = watcher.FindSession(t.Context(), b.cookie)
		return domain.CodeOf(err) == domain.Unavailable
	})
}

// silent reads from a log that does not answer.
type silent struct{}

func (silent) State(context.Context, string) (session.State, eventlog.Revision, error) {
	return session.State{}, 0, eventlog.ErrUnavailable
}
