package signin_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/commands/sessions"
	commands "github.com/recital-tts/recital/commands/signin"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/identity"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/access/keyring/memkeys"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/providers/signin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ada = signin.Person{Issuer: "https://idp.example", Subject: "subject-1815", Name: "Ada Lovelace",
	Email: "ada@example.com"}

// house signs people in, with real accounts, sessions and keys. The test sets the free periods.
type house struct {
	*commandstest.World
	*commands.SignIns
	keys *memkeys.Keyring
	all  *accounts.Accounts
	open *sessions.Sessions
	free map[string]*account.FreePeriod // by account

	mu      sync.Mutex
	broken  string   // the next call of a step of this name fails
	entered []string // the accounts in which sessions were opened
}

func newHouse(t testing.TB) *house {
	t.Helper()
	h := &house{World: commandstest.New(t), free: map[string]*account.FreePeriod{}}
	discard := slog.New(slog.DiscardHandler)
	h.keys = memkeys.New()
	h.all = accounts.New(h.Journal, h.Clock.Now)
	h.all.SealWith(h.keys)
	h.open = sessions.New(sessions.Config{
		Journal: h.Journal, Keys: h.keys, Accounts: h.all, Now: h.Clock.Now, Logger: discard,
		Limits: sessions.Limits{Length: time.Hour, Idle: time.Hour, Rotate: time.Hour, Live: 3},
	})
	h.SignIns = h.instance()
	return h
}

func (h *house) instance() *commands.SignIns {
	return commands.New(commands.Config{
		Journal: h.Journal, Keys: h.keys, Accounts: stepsOfAccounts{h.all, h}, Sessions: stepsOfSessions{h.open, h},
		FreePeriods: h,
		DrawAccount: accounts.NewAccountID, Now: h.Clock.Now,
	})
}

// breaks fails once at the step in broken, as if recitald crashed there.
func (h *house) breaks(step string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.broken != step {
		return nil
	}
	h.broken = ""
	return errDied
}

var errDied = errors.New("recitald died")

type stepsOfAccounts struct {
	*accounts.Accounts
	house *house
}

func (h stepsOfAccounts) OpenFor(
	ctx context.Context, id, person string, free *account.FreePeriod, origin journal.Origin,
) (eventlog.Position, error) {
	if err := h.house.breaks("open"); err != nil {
		return eventlog.Position{}, err
	}
	return h.Accounts.OpenFor(ctx, id, person, free, origin)
}

func (h stepsOfAccounts) RecordProfile(
	ctx context.Context, id string, p account.Profile, origin journal.Origin,
) (eventlog.Position, error) {
	if err := h.house.breaks("profile"); err != nil {
		return eventlog.Position{}, err
	}
	return h.Accounts.RecordProfile(ctx, id, p, origin)
}

type stepsOfSessions struct {
	*sessions.Sessions
	house *house
}

func (h stepsOfSessions) Open(
	ctx context.Context, id string, client session.Client, origin journal.Origin,
) (session.Issued, eventlog.Position, error) {
	if err := h.house.breaks("session"); err != nil {
		return session.Issued{}, eventlog.Position{}, err
	}
	opened, position, err := h.Sessions.Open(ctx, id, client, origin)
	if err == nil {
		h.house.mu.Lock()
		h.house.entered = append(h.house.entered, id)
		h.house.mu.Unlock()
	}
	return opened, position, err
}

// FreePeriodOf implements commands.FreePeriods.
func (h *house) FreePeriodOf(_ context.Context, id string) (*account.FreePeriod, error) {
	return h.free[id], nil
}

func arrival(who signin.Person) commands.Arrival {
	return commands.Arrival{Person: who, UTMSource: "letter",
		Client: session.Client{Provider: "idp_1", Address: "192.0.2.1"}}
}

// enter signs a person in and returns the account.
func (h *house) enter(who signin.Person) string {
	h.T.Helper()
	opened, _, err := h.SignIn(h.T.Context(), arrival(who), journal.System())
	require.NoError(h.T, err)
	require.NotEmpty(h.T, opened.Cookie)
	return h.entered[len(h.entered)-1]
}

// close closes an account without the further steps of its closing.
func (h *house) close(id string) {
	h.T.Helper()
	stream := journal.Stream[account.State, account.Event]{Name: account.Stream(id), Evolve: account.Evolve}
	_, _, err := journal.Execute(h.T.Context(), h.Journal, stream, account.Close{At: h.Clock.Now()},
		journal.System().Metadata(eventlog.EventID([16]byte{1}, 0), h.Clock.Now()))
	require.NoError(h.T, err)
}

// everything returns all events of the log.
func (h *house) everything() (all []eventlog.Recorded) {
	h.T.Helper()
	ctx, cancel := context.WithCancel(h.T.Context())
	subscription := h.Log.Subscribe(ctx, eventlog.Start())
	for delivery := range subscription.Deliveries() {
		switch delivery.Kind {
		case eventlog.KindEvent:
			all = append(all, delivery.Event)
		case eventlog.KindCaughtUp:
			cancel()
		}
	}
	cancel()
	require.ErrorIs(h.T, subscription.Err(), context.Canceled)
	return all
}

// identities returns the events of all identities' streams, with their names.
func (h *house) identities() map[string][]identity.Event {
	h.T.Helper()
	all := map[string][]identity.Event{}
	for _, recorded := range h.everything() {
		if strings.HasPrefix(recorded.Stream, identity.StreamPrefix) {
			all[recorded.Stream] = commandstest.Fold[identity.Event](h.World, recorded.Stream)
		}
	}
	return all
}

func TestTheFirstSignInOpensAnAccount(t *testing.T) {
	h := newHouse(t)
	id := h.enter(ada)
	state, _, err := h.all.State(t.Context(), id)
	require.NoError(t, err)
	require.True(t, state.Exists())
	require.NotEmpty(t, state.ProfileDigest)

	streams := h.identities()
	require.Len(t, streams, 1)
	for name, events := range streams {
		require.Len(t, events, 1)
		claimed := events[0].(identity.Claimed)
		source, err := h.keys.Open(t.Context(), id, claimed.SealedUTMSource, identity.SealedForUTMSource)
		require.NoError(t, err)
		require.Equal(t, "letter", string(source))
		require.Equal(t, identity.Claimed{
			Identity: strings.TrimPrefix(name, identity.StreamPrefix), Account: id, Provider: "idp_1",
			SealedUTMSource: claimed.SealedUTMSource, At: h.Clock.Now(),
		}, claimed, "in clear it is nowhere")
		require.Equal(t, identity.Stream(state.Identity), name)
	}

	t.Run("and the next one finds it", func(t *testing.T) {
		require.Equal(t, id, h.enter(ada))
		renamed := ada
		renamed.Name, renamed.Email = "Countess", "countess@example.com"
		require.Equal(t, id, h.enter(renamed), "whatever the person is called now")
		require.Len(t, h.identities(), 1)
	})
	t.Run("and nobody else does", func(t *testing.T) {
		for name, other := range map[string]signin.Person{
			"another subject": {Issuer: ada.Issuer, Subject: "1816", Name: ada.Name,
				Email: ada.Email},
			"the subject of another issuer": {Issuer: "https://other.example", Subject: ada.Subject,
				Name: ada.Name, Email: ada.Email},
			"what looks the same when it is put together": {Issuer: ada.Issuer + "1", Subject: "815", Name: ada.Name,
				Email: ada.Email},
		} {
			require.NotEqual(t, id, h.enter(other), name)
		}
	})
}

func TestTheLogDoesNotRevealWhoSignsIn(t *testing.T) {
	h := newHouse(t)
	h.enter(ada)
	for _, recorded := range h.everything() {
		for _, secret := range []string{ada.Subject, ada.Name, ada.Email, "192.0.2.1"} {
			require.NotContains(t, recorded.Stream+string(recorded.Data)+string(recorded.Metadata), secret, recorded.Type)
		}
	}
}

// recitald may crash between any two appends of a sign-in.
func TestASignInCompletesWhatAnEarlierOneHasLeft(t *testing.T) {
	for _, step := range []string{"open", "profile", "session"} {
		t.Run(step, func(t *testing.T) {
			h := newHouse(t)
			h.broken = step
			_, _, err := h.SignIn(t.Context(), arrival(ada), journal.System())
			require.ErrorIs(t, err, errDied)
			require.Empty(t, h.entered)

			id := h.enter(ada)
			state, _, err := h.all.State(t.Context(), id)
			require.NoError(t, err)
			require.NotEmpty(t, state.ProfileDigest)
			for _, events := range h.identities() {
				require.Len(t, events, 1, "the account that was claimed first is the one that was opened")
				require.Equal(t, id, events[0].(identity.Claimed).Account)
			}
		})
	}
}

func TestSignInsAtOnceOpenOneAccount(t *testing.T) {
	h := newHouse(t)
	var all sync.WaitGroup
	for range 8 {
		other := h.instance()
		all.Go(func() {
			_, _, err := other.SignIn(t.Context(), arrival(ada), journal.System())
			assert.NoError(t, err)
		})
	}
	all.Wait()
	require.Len(t, h.entered, 8)
	for _, id := range h.entered {
		require.Equal(t, h.entered[0], id)
	}
}

func TestAfterAClosingAnotherAccountOpensAndTheFreePeriodGoesOn(t *testing.T) {
	for name, release := range map[string]func(*house, string){
		"once the closing has released the identity": func(h *house,
			id string) {
			require.NoError(h.T, h.Release(h.T.Context(), id))
		},
		"before the closing has come to the identity": func(*house, string) {},
		"when the closing has been interrupted and repeats": func(h *house, id string) {
			require.NoError(h.T, h.Release(h.T.Context(), id))
			require.NoError(h.T, h.Release(h.T.Context(), id))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			first := h.enter(ada)
			free := &account.FreePeriod{Start: h.Clock.Now(), End: h.Clock.Now().AddDate(0, 1, 0), Used: 14_000}
			h.free[first] = free
			h.close(first)
			release(h, first)

			h.Clock.Advance(time.Hour)
			second := h.enter(ada)
			require.NotEqual(t, first, second)
			events := commandstest.Fold[account.Event](h.World, account.Stream(second))
			require.Equal(t, (*account.FreePeriod)(free), events[0].(account.Opened).FreePeriod)

			// and a repeated closing does not release the new account
			require.NoError(t, h.Release(t.Context(), first))
			require.Equal(t, second, h.enter(ada))
		})
	}
}

// The free period is not lost in a crash of the second opening.
func TestTheFreePeriodSurvivesACrash(t *testing.T) {
	h := newHouse(t)
	first := h.enter(ada)
	h.free[first] = &account.FreePeriod{Start: h.Clock.Now(), End: h.Clock.Now().AddDate(0, 1, 0), Used: 14_000}
	h.close(first)
	h.broken = "open"
	_, _, err := h.SignIn(t.Context(), arrival(ada), journal.System())
	require.ErrorIs(t, err, errDied)
	h.broken = "session"
	_, _, err = h.SignIn(t.Context(), arrival(ada), journal.System())
	require.ErrorIs(t, err, errDied)
	second := h.enter(ada)
	events := commandstest.Fold[account.Event](h.World, account.Stream(second))
	require.Equal(t, int64(14_000), events[0].(account.Opened).FreePeriod.Used)
}

func TestAnAccountThatNobodyHasSignedInToIsReleasedFromNothing(t *testing.T) {
	h := newHouse(t)
	require.NoError(t, h.Release(t.Context(), h.World.Open("free")))
	require.NoError(t, h.Release(t.Context(), "nothing"))
	require.Empty(t, h.identities())
}

func TestSessionsSayByWhichProvider(t *testing.T) {
	h := newHouse(t)
	opened, _, err := h.SignIn(t.Context(), arrival(ada), journal.System())
	require.NoError(t, err)
	cookie, ok := session.ParseCookie(opened.Cookie)
	require.True(t, ok)
	event := commandstest.Fold[session.Event](h.World, session.Stream(cookie.ID))[0].(session.Opened)
	require.Equal(t, "idp_1", event.Provider, fmt.Sprint(event))
}
