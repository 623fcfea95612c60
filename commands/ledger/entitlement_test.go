package ledger_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/journal"
	commands "github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb/esdbtest"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
	"github.com/recital-tts/recital/internal/events/todo"
)

// entitle puts an account on a plan. No period follows it yet.
func (w *world) entitle(id string, e plan.Entitlement) {
	w.T.Helper()
	w.Must(w.Accounts.Entitle(w.T.Context(), id, e, w.Account(id).Version+1, uuid.New()))
}

func (w *world) follow(keeper *commands.Ledger, id string) {
	w.T.Helper()
	w.Must(keeper.FollowEntitlement(w.T.Context(), id, uuid.New()))
}

// bought returns a plan that is bought now, for a month.
func (w *world) bought(on plan.Type) plan.Entitlement {
	now := w.Clock.Now()
	return plan.Entitlement{Plan: on, Start: now, End: now.AddDate(0, 1, 0), Next: on, Anchor: now}
}

func TestAnInstanceThatHasNotHeardOfAPlanGoesOnInItsPeriod(t *testing.T) {
	// given two instances that know a free account at its limit, with credit and a reply in progress
	w := newWorld(t)
	id := w.Open("free")
	one, other := w.Ledger(), w.Ledger()
	spend(t, one, id, 14_000)
	grant(t, one, id, "g", 500)
	running := commandstest.Reserve(t, other, id, 1_500)
	requireNothingLeft(t, other, id)
	free := w.Stream(id)

	// when the account buys a plan, and the periods are put on its terms
	w.Clock.Jump(time.Hour)
	w.entitle(id, w.bought(plan.Pro))
	w.follow(one, id)

	// then both reserve in the new period, and the open reservation is settled in the old one
	for _, keeper := range []*commands.Ledger{other, one} {
		r := commandstest.Reserve(t, keeper, id, 20_000)
		require.Equal(t, plan.Pro, r.Allowance.Plan)
		commandstest.Settle(t, one, r, 20_000)
	}
	commandstest.Settle(t, other, running, 1_300)
	before := w.BooksOf(free)
	require.EqualValues(t, 15_300, before.Settled)
	require.Equal(t, w.Clock.Now(), before.Terms.End)
	require.EqualValues(t, 40_000, w.Books(id).Settled)

	// and remaining credit is carried to the new one immediately, and a grant is known there
	carry(t, one, free)
	require.EqualValues(t, 200, w.Books(id).CreditLeft())
	require.EqualValues(t, 200, grant(t, other, id, "g", 500).Left)
}

// New terms are caused by the entitlement, whichever command comes first.
func TestNewTermsAreCausedByTheEntitlementAndNotByWhoComesBy(t *testing.T) {
	// given a period, and a larger plan that no period follows
	w := newWorld(t)
	id := w.Open("free")
	keeper := w.Ledger()
	pro := w.bought(plan.Pro)
	w.entitle(id, pro)
	w.follow(keeper, id)
	w.Clock.Jump(time.Hour)
	pro.Plan, pro.Next = plan.Premium, plan.Premium
	w.entitle(id, pro)
	entitled := w.Last(account.Stream(id))

	// when an operator grants credit
	_, err := w.Ledger().GrantCredit(t.Context(), id, "g", 5,
		journal.Origin{Actor: eventlog.Actor{Kind: eventlog.ActorOperator, Name: "ada"}})
	require.NoError(t, err)

	// then the operator is the actor of the grant alone
	require.Equal(t, plan.Premium, w.Books(id).Terms.Plan)
	var changed, granted eventlog.Decoded
	for _, event := range w.Decoded(w.Stream(id)) {
		switch event.Event.(type) {
		case ledger.TermsChanged:
			changed = event
		case ledger.CreditGranted:
			granted = event
		}
	}
	require.Equal(t, "ada", granted.Meta.Actor.Name)
	require.Equal(t, eventlog.Actor{Kind: eventlog.ActorSystem}, changed.Meta.Actor)
	require.Equal(t, entitled.ID, changed.Meta.CausationID)
}

// A bought plan can be used before the periods follow it.
func TestNobodyIsRefusedByThePlanBefore(t *testing.T) {
	// given an instance that knows a free account at its limit
	w := newWorld(t)
	id := w.Open("free")
	keeper := w.Ledger()
	spend(t, keeper, id, 15_000)
	requireNothingLeft(t, keeper, id)
	free := w.Stream(id)

	// when the account buys a plan, then it reserves on that plan, although no period follows it
	w.Clock.Jump(time.Hour)
	w.entitle(id, w.bought(plan.Indie))
	r := commandstest.Reserve(t, keeper, id, 20_000)
	require.Equal(t, plan.Indie, r.Allowance.Plan)
	commandstest.Settle(t, keeper, r, 20_000)
	w.follow(keeper, id)
	require.EqualValues(t, 20_000, w.Books(id).Settled)
	require.EqualValues(t, 15_000, w.BooksOf(free).Settled)
	require.Equal(t, w.Clock.Now(), w.BooksOf(free).Terms.End)
}

// A plan may be bought between the reading of an account and the append to its period.
func TestAnInstanceThatIsAboutToOpenAPeriodFindsThatItHasEnded(t *testing.T) {
	// given an instance that has read the account, with a first append that waits
	socket := nodetest.Start(t)
	open := func() *world { return &world{commandstest.NewOn(t, esdbtest.Open(t, socket))} }
	w, elsewhere := open(), open()
	elsewhere.Clock.Advance(time.Hour)
	id := w.Open("free")
	slow, fast := w.Ledger(), elsewhere.Ledger()
	free := w.Stream(id)
	release := w.Log.Hold()
	var wait sync.WaitGroup
	wait.Go(func() { spend(t, slow, id, 100) })
	<-w.Log.Held

	// when a plan is bought and followed meanwhile, then it reserves in the period of that plan
	elsewhere.entitle(id, elsewhere.bought(plan.Indie))
	elsewhere.follow(fast, id)
	release()
	wait.Wait()
	require.EqualValues(t, 100, elsewhere.Books(id).Settled)
	require.True(t, w.BooksOf(free).Over())
	require.Zero(t, w.BooksOf(free).Settled)
	spend(t, fast, id, 7)
	require.EqualValues(t, 107, elsewhere.Books(id).Settled)
}

func TestAnUpgradeChangesTheTermsOfTheRunningPeriod(t *testing.T) {
	w := newWorld(t)
	id := w.Open("free")
	one, other := w.Ledger(), w.Ledger()
	bought := w.bought(plan.Indie)
	w.entitle(id, bought)
	w.follow(one, id)
	spend(t, one, id, 300_000)
	spend(t, other, id, 1)

	// when it is upgraded, then the usage past the plan is billed, and the rest counts on the new terms, on both instances
	w.Clock.Advance(24 * time.Hour)
	bought.Plan, bought.Next = plan.Premium, plan.Premium
	w.entitle(id, bought)
	w.follow(one, id)
	for _, keeper := range []*commands.Ledger{other, one} {
		r := commandstest.Reserve(t, keeper, id, 0)
		require.Equal(t, plan.Premium, r.Allowance.Plan)
		require.EqualValues(t, 200_000, r.Allowance.Settled)
		commandstest.Settle(t, keeper, r, 0)
	}
	w.nextPeriod(id)
	stream := fmt.Sprintf("usage-%s-%d", id, bought.Start.Unix())
	w.Must(one.ClosePeriod(t.Context(), stream, uuid.New()))
	past, _, err := one.OverageOn(t.Context(), stream, 1)
	require.NoError(t, err)
	require.Equal(t, plan.Indie, past.Plan)
	require.EqualValues(t, 100_001, past.Characters)
	require.Equal(t, past.At, past.End, "its terms ended with the upgrade")
	_, _, err = one.OverageOn(t.Context(), stream, 2)
	require.Equal(t, domain.NotFound, domain.CodeOf(err), "nothing is past the new plan")
}

func TestAPeriodIsClosedAndItsOverageBilledOnce(t *testing.T) {
	// given a period with more usage than plan and credit, and with an open reservation
	w := newWorld(t)
	id := w.Open("free")
	keeper, other := w.Ledger(), w.Ledger()
	bought := w.bought(plan.Indie)
	w.entitle(id, bought)
	grant(t, keeper, id, "g", 1_000)
	spend(t, keeper, id, 212_000)
	stream := w.Stream(id)
	_, err := keeper.ClosePeriod(t.Context(), stream, uuid.New())
	require.Equal(t, domain.Conflict, domain.CodeOf(err), "it is not over")
	w.Clock.Jump(bought.End.Sub(w.Clock.Now()) - time.Second)
	running := commandstest.Reserve(t, other, id, 2_000)
	w.Clock.Jump(2 * time.Second)

	// then it is closed after the reservation has ended, and not before
	var notYet *todo.NotYetError
	_, err = keeper.ClosePeriod(t.Context(), stream, uuid.New())
	require.ErrorAs(t, err, &notYet)
	commandstest.Settle(t, other, running, 1_345)
	over := ledger.Overage{Plan: plan.Indie, Version: 1, Characters: 12_345, At: w.Clock.Now()}
	for _, by := range []*commands.Ledger{keeper, other} {
		position, err := by.ClosePeriod(t.Context(), stream, uuid.New())
		require.NoError(t, err)
		found, seen, err := by.OverageOn(t.Context(), stream, 1)
		require.NoError(t, err)
		require.Equal(t, ledger.PeriodOverage{Account: id, Plan: plan.Indie, Start: bought.Start, End: bought.End,
			Characters: 12_345, At: over.At}, found)
		require.Equal(t, position, seen)
	}

	// and it is billed once
	for _, by := range []*commands.Ledger{keeper, other} {
		_, err := by.OverageBilled(t.Context(), stream, 1, ledger.Bill{Units: 12, Amount: 60, Currency: "usd",
			Item: "ii_1"}, uuid.New())
		require.NoError(t, err)
	}
	books := w.BooksOf(stream)
	require.Equal(t, ledger.OverageBilled{
		Account: id, Version: 1, Characters: 12_345, Units: 12, Amount: 60, Currency: "usd", Item: "ii_1",
		Start: bought.Start, At: w.Clock.Now(),
	}, books.Events[len(books.Events)-1])
	require.True(t, books.Overages[0].Billed)

	// and an unknown period is not closed
	_, err = keeper.ClosePeriod(t.Context(), "usage-nobody-1", uuid.New())
	require.Equal(t, domain.NotFound, domain.CodeOf(err))
	require.False(t, errors.As(err, &notYet))
}

// An unpaid plan is withdrawn. If it is paid later, it continues in the current period.
func TestAPlanThatIsPaidAfterAll(t *testing.T) {
	w := newWorld(t)
	id := w.Open("free")
	keeper, other := w.Ledger(), w.Ledger()
	bought := w.bought(plan.Pro)
	w.entitle(id, bought)
	w.follow(keeper, id)
	spend(t, keeper, id, 20_000)
	spend(t, other, id, 1)
	w.Clock.Jump(10 * 24 * time.Hour)
	w.entitle(id, plan.Entitlement{Plan: plan.Free, Start: w.Clock.Now()})
	w.follow(keeper, id)
	spend(t, other, id, commandstest.FreeLimit)
	requireNothingLeft(t, keeper, id)

	w.Clock.Jump(time.Hour)
	w.entitle(id, bought)
	w.follow(keeper, id)
	for _, by := range []*commands.Ledger{other, keeper} {
		r := commandstest.Reserve(t, by, id, 1)
		require.Equal(t, plan.Pro, r.Allowance.Plan)
		require.EqualValues(t, commandstest.FreeLimit, r.Allowance.Settled)
		commandstest.Settle(t, by, r, 0)
	}
	require.Equal(t, "past the plan: 0", w.pastThePlan(keeper, id, bought.End))
}

// Characters used while the plan was withdrawn count on it after a late payment, and are billed only as far as all
// usage exceeds the plan.
func TestWhatWasSpokenWhileAPlanWasUnpaidCountsAsThePlans(t *testing.T) {
	for past, spoken := range map[string]int64{"past the plan: 0": 185_000, "past the plan: 7": 185_007} {
		w := newWorld(t)
		id := w.Open("free")
		keeper := w.Ledger()
		bought := w.bought(plan.Indie)
		w.entitle(id, bought)
		w.follow(keeper, id)
		w.Clock.Jump(10 * 24 * time.Hour)
		w.entitle(id, plan.Entitlement{Plan: plan.Free, Start: w.Clock.Now()})
		w.follow(keeper, id)
		spend(t, keeper, id, commandstest.FreeLimit)

		w.Clock.Jump(time.Hour)
		w.entitle(id, bought)
		w.follow(keeper, id)
		spend(t, keeper, id, spoken)
		require.Equal(t, past, w.pastThePlan(keeper, id, bought.End))
	}
}

// pastThePlan closes the current period at the end of the plan, and returns its overage to be billed.
func (w *world) pastThePlan(keeper *commands.Ledger, id string, end time.Time) string {
	stream := w.Stream(id)
	w.Clock.Jump(end.Sub(w.Clock.Now()) + time.Second)
	w.Must(keeper.ClosePeriod(w.T.Context(), stream, uuid.New()))
	var past int64
	for _, overage := range w.BooksOf(stream).Overages {
		past += overage.Characters
	}
	return fmt.Sprint("past the plan: ", past)
}

// A closed account leaves the usage of its current free period, whatever its earlier plans.
func TestWhatAnAccountThatPaidLeaves(t *testing.T) {
	w := newWorld(t)
	id := w.Open("free")
	keeper := w.Ledger()
	spend(t, keeper, id, 9_000)
	bought := w.bought(plan.Indie)
	bought.Next = plan.Free
	w.entitle(id, bought)
	w.follow(keeper, id)
	free, err := w.Ledger().FreePeriodOf(t.Context(), id)
	require.NoError(t, err)
	require.Nil(t, free, "while it pays")

	// when the plan has ended, though without an event, then free periods count from its end
	w.Clock.Jump(bought.End.Sub(w.Clock.Now()) + time.Hour)
	spend(t, keeper, id, 700)
	free, err = w.Ledger().FreePeriodOf(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, bought.End, free.Start)
	require.EqualValues(t, 700, free.Used)
	w.entitle(id, plan.Entitlement{Plan: plan.Free, Start: bought.End.Add(3 * time.Second)})
	w.follow(keeper, id)
	again, err := w.Ledger().FreePeriodOf(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, free, again, "asking for it again gives no new characters")
}
