package ledger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
)

func (w *world) spending(t *testing.T) (shown spendingCapResponse) {
	t.Helper()
	require.Equal(t, 200, w.get(t, "/payments/spending-cap", "a1", &shown))
	return shown
}

// The spending is the ledger's, in the current period.
func TestTheSpendingCapIsShown(t *testing.T) {
	w := newWorld(t)
	require.Equal(t, spendingCapResponse{}, w.spending(t))

	// given a period that is over, with a cap that was exceeded by a unit
	now := time.Now().UTC().Truncate(time.Second)
	begin, end := now.AddDate(0, -1, 0), now.AddDate(0, 0, -1)
	indie, _ := plan.Lookup(plan.Indie)
	open := ledger.OpenPeriod{Account: "a1", Plan: indie, Start: begin, End: end, At: begin,
		Cap:  plan.SpendingCap{Amount: new(int64(500)), Currency: "usd", Version: 1},
		Rate: plan.Rate{Unit: 1_000, Millis: 5_000, Currency: "usd"}}
	use := func(stream string, open ledger.OpenPeriod, more ...ledger.Event) int64 {
		events, err := open.Decide(ledger.State{})
		require.NoError(t, err)
		var state ledger.State
		var all []any
		for _, event := range append(events, more...) {
			state = ledger.Evolve(state, event)
			all = append(all, event)
		}
		w.Write(t, stream, all...)
		return state.Spent()
	}
	reserved := func(open ledger.OpenPeriod, n int64) []ledger.Event {
		return []ledger.Event{ledger.Reserved{Account: "a1", Reservation: open.Start.String(), Characters: n,
			Source: ledger.API, At: open.Start}, ledger.Settled{Account: "a1", Reservation: open.Start.String(),
			Characters: n, Source: ledger.API, Start: open.Start, At: open.Start}}
	}
	use("usage-a1-1", open, reserved(open, 201_000)...)
	require.Equal(t, spendingCapResponse{Amount: new(int64(500)), Currency: new("usd"), Spent: new(int64(0))},
		w.spending(t))

	// and the present one, with credit, and earlier terms that were billed
	open.Start, open.End = end, now.AddDate(0, 1, 0)
	changed := open
	changed.Version, changed.Plan.Characters = 1, 300_000
	terms := ledger.TermsChanged{PeriodOpened: ledger.PeriodOpened{Account: "a1", Plan: plan.Pro, Version: 1,
		Limit: &changed.Plan.Characters, Metered: true, Start: open.Start, End: open.End}, Overage: 3_000, At: now}
	more := append(reserved(open, 203_000), terms,
		ledger.OverageBilled{Account: "a1", Characters: 3_000, Units: 3, Amount: 15, Currency: "usd", Start: open.Start},
		ledger.CreditGranted{Account: "a1", Grant: "g", Characters: 2_000, Start: open.Start, End: open.End, At: now})
	open.Start = end
	more = append(more, ledger.Reserved{Account: "a1", Reservation: "r2", Characters: 105_999, Source: ledger.Playground,
		At: now}, ledger.Settled{Account: "a1", Reservation: "r2", Characters: 105_999, Source: ledger.Playground,
		Start: open.Start, At: now})
	spent := use("usage-a1-2", open, more...)
	require.EqualValues(t, 15+3*5, spent)
	require.Equal(t, spendingCapResponse{Amount: new(int64(500)), Currency: new("usd"), Spent: &spent,
		PeriodEnd: new(open.End.Unix())}, w.spending(t))
	require.Equal(t, 401, w.get(t, "/payments/spending-cap", "", nil))
}
