package ledger_test

import (
	"context"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	commands "github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// indieRate is 5 cents for 1,000 characters.
var indieRate = plan.Rate{Unit: 1_000, Millis: 5_000, Currency: "usd"}

// priced returns ledgers of instances with metered plans at indieRate.
func (w *world) priced(instances int) (ledgers []*commands.Ledger) {
	for range instances {
		keeper := w.Ledger()
		keeper.PriceBy(func(context.Context, string, plan.Type) (plan.Rate, error) { return indieRate, nil })
		ledgers = append(ledgers, keeper)
	}
	return ledgers
}

// atLimit returns an account that has bought a plan and used all its characters.
func (w *world) atLimit(keeper *commands.Ledger) string {
	id := w.Open("free")
	w.entitle(id, w.bought(plan.Indie))
	w.follow(keeper, id)
	r := commandstest.Reserve(w.T, keeper, id, 200_000)
	commandstest.Settle(w.T, keeper, r, 200_000)
	return id
}

func (w *world) limit(keeper *commands.Ledger, id string, amount int64) commands.SpendingCap {
	w.T.Helper()
	set, err := keeper.SetSpendingCap(w.T.Context(), id, &amount, commandstest.Operator())
	require.NoError(w.T, err)
	return set
}

func reserveOn(t testing.TB, keeper *commands.Ledger, id string, n int64) error {
	_, err := keeper.Reserve(t.Context(), id, n, commandstest.Operator())
	return err
}

func TestASpendingCapHoldsOnEveryInstanceAtOnce(t *testing.T) {
	// given two instances that know a period
	w := newWorld(t)
	both := w.priced(2)
	id := w.atLimit(both[0])
	commandstest.Reserve(t, both[1], id, 0)

	// when a cap is set on one of them, then the other one keeps it
	set := w.limit(both[0], id, 10)
	require.Equal(t, "usd", set.Currency)
	require.ErrorIs(t, reserveOn(t, both[1], id, 3_000), ledger.ErrSpendingCap)
	require.NoError(t, reserveOn(t, both[1], id, 2_999))

	// and when it is raised or removed, then the other one follows, too
	w.limit(both[1], id, 15)
	require.NoError(t, reserveOn(t, both[0], id, 1_000))
	require.ErrorIs(t, reserveOn(t, both[0], id, 1_000), ledger.ErrSpendingCap)
	w.Must(both[0].SetSpendingCap(t.Context(), id, nil, commandstest.Operator()))
	require.NoError(t, reserveOn(t, both[1], id, 1_000_000))

	// and setting it again appends no event
	before := w.limit(both[0], id, 7).Position
	require.Equal(t, before, w.limit(both[0], id, 7).Position)
	require.EqualValues(t, 4, w.Account(id).SpendingCap.Version)
}

func TestManyStreamsOfTwoInstancesKeepTheCap(t *testing.T) {
	w := newWorld(t)
	both := w.priced(2)
	id := w.atLimit(both[0])
	w.limit(both[0], id, 50) // 10,999 characters

	const replies = 64
	var wait sync.WaitGroup
	for i := range replies {
		wait.Go(func() {
			r, err := both[i%2].Reserve(t.Context(), id, 900, commandstest.Operator())
			if err != nil {
				assert.ErrorIs(t, err, ledger.ErrSpendingCap)
				return
			}
			if i%4 == 0 { // gives the room back
				_, err = both[i%2].Settle(t.Context(), r, 0)
			} else {
				_, err = both[i%2].Settle(t.Context(), r, 900)
			}
			assert.NoError(t, err)
		})
	}
	wait.Wait()
	for reserveOn(t, both[0], id, 900) == nil {
	}
	books := w.Books(id)
	require.LessOrEqual(t, (books.Settled+books.Reserved-200_000)/1_000*5, int64(50))
	require.Greater(t, books.Settled+books.Reserved, int64(200_000+10_999-900), "what fits is not refused")
}

func TestTheNextPeriodHasTheCapAndSpendsAnew(t *testing.T) {
	w := newWorld(t)
	keeper := w.priced(1)[0]
	id := w.atLimit(keeper)
	w.limit(keeper, id, 5)
	require.NoError(t, reserveOn(t, keeper, id, 1_999))
	require.ErrorIs(t, reserveOn(t, keeper, id, 1), ledger.ErrSpendingCap)

	w.nextPeriod(id)
	require.NoError(t, reserveOn(t, keeper, id, 201_999))
	require.ErrorIs(t, reserveOn(t, keeper, id, 1), ledger.ErrSpendingCap)
}

// After a crash between the account's event and the period's, the to-do list completes the change.
func TestACapWhosePeriodWasCutOffIsFollowed(t *testing.T) {
	// given instances that know a period, and a stream that refuses appends
	w := newWorld(t)
	both := w.priced(2)
	id := w.atLimit(both[0])
	commandstest.Reserve(t, both[1], id, 0)
	w.Log.Break(w.Stream(id))
	_, err := both[0].SetSpendingCap(t.Context(), id, new(int64(5)), commandstest.Operator())
	require.ErrorIs(t, err, eventlog.ErrUnavailable)
	w.Log.Break("")

	// when the to-do is executed, twice, then all instances keep the cap
	for range 2 {
		w.follow(both[0], id)
	}
	require.ErrorIs(t, reserveOn(t, both[1], id, 2_000), ledger.ErrSpendingCap)

	// and its cause is the account's event
	set := 0
	for _, event := range w.Decoded(w.Stream(id)) {
		if _, is := event.Event.(ledger.SpendingCapSet); is {
			set++
			require.Equal(t, w.idOf(account.Stream(id), account.SpendingCapSet{}), event.Meta.CausationID)
		}
	}
	require.Equal(t, 1, set)
}

// idOf returns the id of the only event of a type in a stream.
func (w *world) idOf(stream string, like account.Event) (id uuid.UUID) {
	for _, event := range w.Decoded(stream) {
		if event.Type == w.Journal.Registry.NameOf(like) {
			id = event.ID
		}
	}
	return id
}

func TestAnUpgradeComparesTheCapAtItsOwnRate(t *testing.T) {
	w := newWorld(t)
	keeper := w.Ledger()
	pro := plan.Rate{Unit: 1_000, Millis: 1_000, Currency: "usd"}
	keeper.PriceBy(func(_ context.Context, _ string, on plan.Type) (plan.Rate, error) {
		if on == plan.Pro {
			return pro, nil
		}
		return indieRate, nil
	})
	id := w.atLimit(keeper)
	w.limit(keeper, id, 10)
	commandstest.Settle(t, keeper, commandstest.Reserve(t, keeper, id, 1_000), 1_000) // 5 cents
	e := w.Account(id).Entitlement
	e.Plan = plan.Pro
	w.entitle(id, e)
	w.follow(keeper, id)

	commandstest.Settle(t, keeper, commandstest.Reserve(t, keeper, id, 1_050_000), 1_050_000)
	require.NoError(t, reserveOn(t, keeper, id, 5_999), "5 cents of indie's and 5 of pro's")
	require.ErrorIs(t, reserveOn(t, keeper, id, 1), ledger.ErrSpendingCap)
}

func TestACapInAnotherCurrencyPermitsNoOverage(t *testing.T) {
	w := newWorld(t)
	keeper := w.Ledger()
	rate := indieRate
	keeper.PriceBy(func(context.Context, string, plan.Type) (plan.Rate, error) { return rate, nil })
	id := w.atLimit(keeper)
	w.limit(keeper, id, 10)

	rate.Currency = "eur"
	w.entitle(id, w.Account(id).Entitlement)
	w.follow(keeper, id)
	require.ErrorIs(t, reserveOn(t, keeper, id, 1_000), ledger.ErrSpendingCap)
	require.Equal(t, "eur", w.limit(keeper, id, 10).Currency)
	require.NoError(t, reserveOn(t, keeper, id, 1_000))
}

func TestAPlanWithoutOverageHasNoCap(t *testing.T) {
	w := newWorld(t)
	keeper := w.priced(1)[0]
	for _, on := range []string{"free", "enterprise"} {
		id := w.Open(on)
		_, err := keeper.SetSpendingCap(t.Context(), id, new(int64(5)), commandstest.Operator())
		require.ErrorIs(t, err, commands.ErrNoOverage, on)
		_, err = keeper.SetSpendingCap(t.Context(), id, nil, commandstest.Operator())
		require.NoError(t, err, on)
	}
	unpriced, id := w.Ledger(), w.Open("indie")
	_, err := unpriced.SetSpendingCap(t.Context(), id, new(int64(5)), commandstest.Operator())
	require.ErrorIs(t, err, commands.ErrNoOverage, "a plan that was never bought")
	_, err = keeper.SetSpendingCap(t.Context(), "nobody", new(int64(5)), commandstest.Operator())
	require.Equal(t, domain.NotFound, domain.CodeOf(err))
}
