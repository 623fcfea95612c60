package sessions_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/commands/sessions"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/access/keyring/memkeys"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const day = 24 * time.Hour

var limits = sessions.Limits{Length: 30 * day, Idle: 7 * day, Rotate: day, Live: 3}

const chrome = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) " +
	"Chrome/142.0.0.0 Safari/537.36"

// house opens sessions with a real keyring. Its read model is always up to date.
type house struct {
	*commandstest.World
	*sessions.Sessions
	keys    *memkeys.Keyring
	account string
	opened  []string
}

func newHouse(t testing.TB) *house {
	t.Helper()
	h := &house{World: commandstest.New(t)}
	h.keys = memkeys.New()
	h.Sessions = sessions.New(sessions.Config{
		Journal: h.Journal, Keys: h.keys, Accounts: h.World.Accounts, Limits: limits, Now: h.Clock.Now,
		Logger:    slog.New(slog.DiscardHandler),
		Countries: func(address string) string { return map[string]string{"192.0.2.7": "NL"}[address] },
		Shown: func(context.Context, string, eventlog.Position) ([]string, error) {
			newestFirst := slices.Clone(h.opened)
			slices.Reverse(newestFirst)
			return newestFirst, nil
		},
	})
	h.account = h.World.Open("free")
	return h
}

// signIn opens a session.
func (h *house) signIn(client session.Client) (session.Issued, session.Cookie) {
	h.T.Helper()
	opened, _, err := h.Sessions.Open(h.T.Context(), h.account, client, journal.System())
	require.NoError(h.T, err)
	h.opened = append(h.opened, opened.ID)
	cookie, ok := session.ParseCookie(opened.Cookie)
	require.True(h.T, ok)
	require.Equal(h.T, opened.ID, cookie.ID)
	return opened, cookie
}

func (h *house) history(id string) []session.Event {
	return commandstest.Fold[session.Event](h.World, session.Stream(id))
}

func TestASessionIsOpenedWithWhatItsOwnerRecognisesItBy(t *testing.T) {
	h := newHouse(t)
	opened, cookie := h.signIn(session.Client{UserAgent: chrome, Address: "192.0.2.7", Provider: "idp_2"})
	require.Equal(t, h.Clock.Now().Add(limits.Length), opened.ExpiresAt)

	event := h.history(opened.ID)[0].(session.Opened)
	require.Equal(t, cookie.Hash(), event.SecretHash)
	require.Equal(t, "NL", event.Country)
	require.Equal(t, "idp_2", event.Provider)
	device, err := h.keys.Open(t.Context(), h.account, event.Device, session.DeviceSealedFor(opened.ID))
	require.NoError(t, err)
	require.Equal(t, "Chrome on macOS", string(device))
	address, err := h.keys.Open(t.Context(), h.account, event.Address, session.AddressSealedFor(opened.ID))
	require.NoError(t, err)
	require.Equal(t, "192.0.2.7", string(address))

	for recorded, err := range h.Log.ReadStream(t.Context(), session.Stream(opened.ID), 0) {
		require.NoError(t, err)
		for _, secret := range []string{cookie.Secret, "192.0.2.7", "Chrome"} {
			require.NotContains(t, string(recorded.Data)+string(recorded.Metadata), secret)
		}
	}
}

func TestAnEdgeKnowsTheCountryBetter(t *testing.T) {
	h := newHouse(t)
	opened, _ := h.signIn(session.Client{Address: "192.0.2.7", Country: "FR"})
	event := h.history(opened.ID)[0].(session.Opened)
	require.Equal(t, "FR", event.Country)
	require.Empty(t, event.Device)
}

func TestNoAccountNoSession(t *testing.T) {
	h := newHouse(t)
	_, _, err := h.Sessions.Open(t.Context(), "nobody", session.Client{}, journal.System())
	require.ErrorIs(t, err, account.ErrNoAccount)
}

func TestASessionThatIsOpenedAfterAllWereRevokedIsNotRevoked(t *testing.T) {
	// given sessions that were revoked by an instance with a clock that is ahead
	h := newHouse(t)
	h.Must(h.World.Accounts.RevokeSessions(t.Context(), h.account, journal.System()))
	revoked := h.Clock.Now()
	h.Clock.Advance(-time.Minute)

	// when another one is opened
	opened, _ := h.signIn(session.Client{})

	// then it was opened later
	state, _, err := h.State(t.Context(), opened.ID)
	require.NoError(t, err)
	require.True(t, state.OpenedAt.After(revoked))
}

func TestAClosedAccountOpensNoSession(t *testing.T) {
	h := newHouse(t)
	h.Other("account-"+h.account, 1, account.Closed{Account: h.account, At: h.Clock.Now()})
	_, _, err := h.Sessions.Open(t.Context(), h.account, session.Client{}, journal.System())
	require.ErrorIs(t, err, account.ErrClosed)
}

func TestASessionIsEndedByItsAccountOnly(t *testing.T) {
	h := newHouse(t)
	mine, _ := h.signIn(session.Client{})
	for _, id := range []string{"", "x", strings.ToUpper(mine.ID), mine.ID + "0", strings.Repeat("0", 32), "../account"} {
		_, err := h.End(t.Context(), h.account, id, journal.System())
		require.Equal(t, domain.NotFound, domain.CodeOf(err), "%q", id)
	}
	_, err := h.End(t.Context(), h.World.Open("free"), mine.ID, journal.System())
	require.Equal(t, domain.NotFound, domain.CodeOf(err))

	h.Must(h.End(t.Context(), h.account, mine.ID, journal.System()))
	require.Equal(t, session.Ended{Session: mine.ID, Account: h.account, Reason: session.Revoked, At: h.Clock.Now()},
		h.history(mine.ID)[1])
	_, err = h.End(t.Context(), h.account, mine.ID, journal.System())
	require.Equal(t, domain.NotFound, domain.CodeOf(err))
}

func TestASessionThatEndsItselfIsSignedOut(t *testing.T) {
	h := newHouse(t)
	mine, _ := h.signIn(session.Client{})
	own := journal.Origin{Actor: eventlog.Actor{Kind: eventlog.ActorAccount, Account: h.account, Session: mine.ID}}
	h.Must(h.End(t.Context(), h.account, mine.ID, own))
	require.Equal(t, session.SignedOut, h.history(mine.ID)[1].(session.Ended).Reason)
}

func TestTheOldestSessionsMakeRoom(t *testing.T) {
	h := newHouse(t)
	for range limits.Live + 2 {
		h.signIn(session.Client{})
	}
	for i, id := range h.opened {
		state, _, err := h.State(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, i < 2, state.Ended, "session %d", i)
	}
}

func TestASessionIsSeenAtMostOnceInFiveMinutes(t *testing.T) {
	h := newHouse(t)
	opened, cookie := h.signIn(session.Client{})
	for range 60 {
		h.Clock.Advance(20 * time.Second)
		same, err := h.Use(t.Context(), cookie, false, journal.System())
		require.NoError(t, err)
		require.Equal(t, cookie, same)
	}
	require.Len(t, h.history(opened.ID), 1+4, "in 20 minutes")
}

func TestASecretIsReplacedWhileRequestsAreOnTheirWay(t *testing.T) {
	h := newHouse(t)
	opened, first := h.signIn(session.Client{})
	h.Clock.Advance(limits.Rotate)
	state, _, err := h.State(t.Context(), opened.ID)
	require.NoError(t, err)
	require.True(t, h.Due(state, first, false))
	same, err := h.Use(t.Context(), first, true, journal.System())
	require.NoError(t, err)
	require.Equal(t, first, same, "where no reply can carry another one")
	second, err := h.Use(t.Context(), first, false, journal.System())
	require.NoError(t, err)
	require.NotEqual(t, first, second)

	// then a request that was sent before gets no third one
	late, err := h.Use(t.Context(), first, false, journal.System())
	require.NoError(t, err)
	require.Equal(t, first, late)
	again, err := h.Use(t.Context(), second, false, journal.System())
	require.NoError(t, err)
	require.Equal(t, second, again)

	// and later the first one is invalid
	h.Clock.Advance(session.Overlap)
	_, err = h.Use(t.Context(), first, false, journal.System())
	require.ErrorIs(t, err, session.ErrInvalid)
	require.Len(t, h.history(opened.ID), 3)
}

func TestAnExpiredSessionIsEndedOnce(t *testing.T) {
	h := newHouse(t)
	opened, _ := h.signIn(session.Client{})
	cause := uuid.New()
	for _, wait := range []time.Duration{limits.Length - 1, 1, time.Hour} {
		h.Clock.Advance(wait)
		_, err := h.Expire(t.Context(), session.Stream(opened.ID), cause)
		require.NoError(t, err)
	}
	require.Len(t, h.history(opened.ID), 2)
	require.Equal(t, session.Expired, h.history(opened.ID)[1].(session.Ended).Reason)
}

func TestADeviceHasALabelThatIsSafeToShow(t *testing.T) {
	for agent, label := range map[string]string{
		"":     "",
		chrome: "Chrome on macOS",
		"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) " +
			"Gecko/20100101 Firefox/140.0": "Firefox on Linux",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 " +
			"Mobile/15E148 Safari/604.1": "Safari on iOS",
		"curl/7.88.1": "curl",
	} {
		require.Equal(t, label, sessions.DeviceLabel(agent), agent)
	}
	for _, hostile := range []string{"\x1b[31m/1", "<script>alert(1)</script>", strings.Repeat("é", 1<<20), "\xff\xfe/1",
		strings.Repeat("a", 1<<20) + "/1", "A\nB\x00C/9"} {
		label := sessions.DeviceLabel(hostile)
		require.Regexp(t, `^[ -~]{0,100}$`, label, fmt.Sprintf("%.40q", hostile))
	}
}
