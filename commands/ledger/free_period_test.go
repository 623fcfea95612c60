package ledger_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// openFor opens the account of a person who signs in.
func (w *world) openFor(free *account.FreePeriod) string {
	w.T.Helper()
	id := accounts.NewAccountID()
	w.Must(w.Accounts.OpenFor(w.T.Context(), id, "someone", free, commandstest.Operator()))
	return id
}

func (w *world) close(id string) {
	w.T.Helper()
	w.Must(w.Accounts.Close(w.T.Context(), id, commandstest.Operator()))
}

// Closing an account and opening another one grants no new characters, however often it is done.
func TestAFreePeriodOutlivesItsAccount(t *testing.T) {
	// given a closed account, with a reply that has not ended
	w := newWorld(t)
	id := w.openFor(nil)
	keeper := w.Ledger()
	spend(t, keeper, id, 9_000)
	w.Clock.Advance(24 * time.Hour)
	under := commandstest.Reserve(t, keeper, id, 1_000)
	w.close(id)
	first := w.BooksOf(w.Stream(id)).Terms
	for range 3 {
		free, err := keeper.FreePeriodOf(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, &account.FreePeriod{Start: first.Start, End: first.End, Used: 10_000}, free)

		// when the person opens another one, and closes that, too, without any use
		id = w.openFor(free)
		again, err := w.Ledger().FreePeriodOf(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, free, again)
		require.Empty(t, w.Books(id).Events)
	}
	commandstest.Settle(t, keeper, under, 1_000)

	// then the last one has the rest of the period, on every instance, and no more
	r := commandstest.Reserve(t, keeper, id, 5_000)
	require.EqualValues(t, 10_000, r.Allowance.Settled)
	commandstest.Settle(t, keeper, r, 5_000)
	requireNothingLeft(t, w.Ledger(), id)
	books := w.Books(id)
	require.Equal(t, []ledger.Event{
		ledger.PeriodOpened{Account: id, Plan: "free", Limit: first.Limit, Start: first.Start, End: first.End},
		ledger.BroughtIn{Account: id, Characters: 10_000, Start: first.Start},
	}, books.Events[:2])
	free, err := keeper.FreePeriodOf(t.Context(), id)
	require.NoError(t, err)
	require.EqualValues(t, commandstest.FreeLimit, free.Used)

	// and a new period begins when the old one would have ended
	w.Clock.Advance(first.End.Sub(w.Clock.Now()) - 1)
	requireNothingLeft(t, keeper, id)
	w.Clock.Advance(1)
	commandstest.Reserve(t, keeper, id, commandstest.FreeLimit)
	require.Equal(t, first.End, w.Books(id).Terms.Start)
}

func TestWhatIsLeftOfFreePeriods(t *testing.T) {
	w := newWorld(t)
	keeper := w.Ledger()
	free := func(id string) *account.FreePeriod {
		period, err := keeper.FreePeriodOf(t.Context(), id)
		require.NoError(t, err)
		return period
	}
	unused := w.Open("free")
	require.Zero(t, free(unused).Used)
	require.Empty(t, w.Books(unused).Events, "asking costs the log nothing")

	helped := w.Open("free")
	grant(t, keeper, helped, "g", 1_000)
	spend(t, keeper, helped, commandstest.FreeLimit+1_000)
	require.EqualValues(t, commandstest.FreeLimit, free(helped).Used, "what credit has paid for is not the period's")

	require.Nil(t, free(w.Open("indie")))
	_, err := keeper.FreePeriodOf(t.Context(), "nobody")
	require.Equal(t, domain.NotFound, domain.CodeOf(err))
}

func TestAClosedAccountUsesNothingMore(t *testing.T) {
	w := newWorld(t)
	id := w.Open("indie")
	w.close(id)
	keeper := w.Ledger()
	_, err := keeper.Reserve(t.Context(), id, 1, commandstest.Operator())
	require.Equal(t, domain.NotFound, domain.CodeOf(err))
	_, err = keeper.GrantCredit(t.Context(), id, "g", 1, commandstest.Operator())
	require.Equal(t, domain.NotFound, domain.CodeOf(err))
}

// The credit of a closed account is not carried forever.
func TestTheCreditOfAClosedAccountEndsWithItsPeriod(t *testing.T) {
	w := newWorld(t)
	id := w.Open("free")
	keeper := w.Ledger()
	grant(t, keeper, id, "g", 1_000)
	w.close(id)
	old := w.nextPeriod(id)
	carry(t, keeper, old)
	books := w.BooksOf(old)
	require.True(t, books.Over())
	require.Equal(t, ledger.CreditCarried{Account: id, Start: books.Terms.Start, To: books.Terms.End, At: w.Clock.Now()},
		books.Events[len(books.Events)-1])
	require.Empty(t, w.Books(id).Events)
}

// Usage in a browser, by session, is distinguished from usage by API key.
func TestUsageHasTheSourceOfItsOrigin(t *testing.T) {
	w := newWorld(t)
	id := w.Open("free")
	keeper := w.Ledger()
	for _, c := range []struct {
		actor eventlog.Actor
		want  ledger.Source
	}{
		{eventlog.Actor{Kind: eventlog.ActorAccount, Account: id, Key: "rk_0000****0000"}, ledger.API},
		{eventlog.Actor{Kind: eventlog.ActorAccount, Account: id, Session: uuid.NewString()}, ledger.Playground},
	} {
		r, err := keeper.Reserve(t.Context(), id, 9, journal.Origin{Actor: c.actor})
		require.NoError(t, err)
		commandstest.Settle(t, w.Ledger(), r, 7)
		events := w.Books(id).Events
		require.Equal(t, c.want, events[len(events)-2].(ledger.Reserved).Source)
		require.Equal(t, c.want, events[len(events)-1].(ledger.Settled).Source)
	}
	require.EqualValues(t, 14, w.Books(id).Settled, "both count against the limit")
}
