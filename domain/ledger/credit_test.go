package ledger_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/spec"
)

var (
	before    = start.AddDate(0, -1, 0)
	nextMonth = end.AddDate(0, 1, 0)
)

func granted(id string, characters int64) ledger.Event {
	return ledger.CreditGranted{Account: "a1", Grant: id, Characters: characters, Start: start, End: end, At: now}
}

func carriedIn(id string, characters int64) ledger.Event {
	return ledger.CreditGranted{Account: "a1", Grant: id, Characters: characters, Start: start, End: end, From: &before,
		At: now}
}

func carried(characters int64) ledger.Event {
	return ledger.CreditCarried{Account: "a1", Characters: characters, Start: start, To: end, At: end}
}

func grant(id string, characters int64) ledger.Grant {
	return ledger.Grant{Grant: id, Characters: characters, At: now}
}

// used returns the events of a reservation that was settled in full.
func used(id string, characters int64) events {
	return events{reserved(id, characters), settled(id, characters)}
}

func TestGrant(t *testing.T) {
	open := events{opened(plan.Free)}
	full := slices.Clone(open)
	for i := range ledger.MaxGrants {
		full = append(full, granted(fmt.Sprint("g", i), 1))
	}
	over := append(slices.Clone(open), granted("g1", 10), carried(10))
	tooMuchForAnOperator := ledger.Grant{Grant: "c1", Characters: ledger.MaxGrantedAtOnce + 1, From: &before, At: now}
	spec.Run(t, ledger.Evolve, []row{
		{Name: "credit is granted", Given: open, When: grant("g1", 10), Then: events{granted("g1", 10)}},
		{Name: "the largest grant", Given: open, When: grant("g1", ledger.MaxGrantedAtOnce),
			Then: events{granted("g1", ledger.MaxGrantedAtOnce)}},
		{Name: "another one adds to it", Given: append(open, granted("g1", 10)), When: grant("g2", 10),
			Then: events{granted("g2", 10)}},
		{Name: "granting again changes nothing", Given: append(open, granted("g1", 10)), When: grant("g1", 10)},
		{Name: "granting something else again is refused", Given: append(open, granted("g1", 10)), When: grant("g1", 11),
			Refused: domain.Rejected},
		{Name: "the period must be open", When: grant("g1", 10), Refused: domain.Conflict},
		{Name: "nothing can be granted", Given: open, When: grant("g1", 0), Refused: domain.Invalid},
		{Name: "a negative grant", Given: open, When: grant("g1", -1), Refused: domain.Invalid},
		{Name: "too much", Given: open, When: grant("g1", ledger.MaxGrantedAtOnce+1), Refused: domain.Invalid},
		{Name: "what is carried is never too much", Given: open, When: tooMuchForAnOperator,
			Then: events{carriedIn("c1", ledger.MaxGrantedAtOnce+1)}},
		{Name: "no id", Given: open, When: grant("", 1), Refused: domain.Invalid},
		{Name: "a long id", Given: open, When: grant(strings.Repeat("g", 64), 1),
			Then: events{granted(strings.Repeat("g", 64), 1)}},
		{Name: "too long an id", Given: open, When: grant(strings.Repeat("g", 65), 1), Refused: domain.Invalid},
		{Name: "an id of other characters", Given: open, When: grant("g 1", 1), Refused: domain.Invalid},
		{Name: "an id with a line break", Given: open, When: grant("g1\n", 1), Refused: domain.Invalid},
		{Name: "too many", Given: full, When: grant("one.more", 1), Refused: domain.Rejected},
		{Name: "one of very many again", Given: full, When: grant("g7", 1)},
		{Name: "carrying does not count among them", Given: full,
			When: ledger.Grant{Grant: "c1", Characters: 5, From: &before, At: now},
			Then: events{carriedIn("c1", 5)}},
		{Name: "after the end", Given: over, When: grant("g2", 10), Refused: domain.Conflict},
		{Name: "again after the end", Given: over, When: grant("g1", 10)},
	})
}

func TestReserveWithCredit(t *testing.T) {
	free := events{opened(plan.Free), granted("g1", 100)}
	spec.Run(t, ledger.Evolve, []row{
		{Name: "plan and credit can be reserved", Given: free, When: reserve("r1", 15_100),
			Then: events{reserved("r1", 15_100)}},
		{Name: "and no more", Given: free, When: reserve("r1", 15_101), Refused: domain.PaymentRequired},
		{Name: "open reservations count", Given: append(free, reserved("r1", 15_050)), When: reserve("r2", 51),
			Refused: domain.PaymentRequired},
		{Name: "spent credit is gone", Given: append(free, used("r1", 15_100)...), When: reserve("r2", 1),
			Refused: domain.PaymentRequired},
		{Name: "a further grant goes on", Given: append(append(free, used("r1", 15_100)...), granted("g2", 7)),
			When: reserve("r2", 7), Then: events{reserved("r2", 7)}},
		{Name: "a period that is over", Given: append(free, carried(100)), When: reserve("r1", 1), Refused: domain.Conflict},
	})
}

func TestCarry(t *testing.T) {
	carry := ledger.Carry{To: end, At: end}
	free := events{opened(plan.Free), granted("g1", 100)}
	spec.Run(t, ledger.Evolve, []row{
		{Name: "unspent credit goes on", Given: append(free, used("r1", 15_000)...), When: carry, Then: events{carried(100)}},
		{Name: "the plan's rest does not", Given: append(free, used("r1", 1)...), When: carry, Then: events{carried(100)}},
		{Name: "what is spent stays", Given: append(free, used("r1", 15_030)...), When: carry, Then: events{carried(70)}},
		{Name: "nothing is left", Given: append(free, used("r1", 15_100)...), When: carry, Then: events{carried(0)}},
		{Name: "a metered plan spends credit before it is billed",
			Given: append(events{opened(plan.Indie), granted("g1", 100)}, used("r1", 200_060)...), When: carry,
			Then: events{carried(40)}},
		{Name: "and nothing is left when it was billed",
			Given: append(events{opened(plan.Indie), granted("g1", 100)}, used("r1", 300_000)...), When: carry,
			Then: events{carried(0)}},
		{Name: "a plan without a limit spends none",
			Given: append(events{opened(plan.Enterprise), granted("g1", 100)}, used("r1", 1e9)...), When: carry,
			Then: events{carried(100)}},
		{Name: "what was carried in goes on", Given: append(free, carriedIn("c1", 30)), When: carry,
			Then: events{carried(130)}},
		{Name: "it may skip periods", Given: free, When: ledger.Carry{To: nextMonth, At: nextMonth},
			Then: events{ledger.CreditCarried{Account: "a1", Characters: 100, Start: start, To: nextMonth, At: nextMonth}}},
		{Name: "an open reservation is waited for", Given: append(free, reserved("r1", 1)), When: carry},
		{Name: "carrying again changes nothing", Given: append(free, carried(100)),
			When: ledger.Carry{To: nextMonth, At: nextMonth}},
		{Name: "before the end", Given: free, When: ledger.Carry{To: end, At: end.Add(-1)}, Refused: domain.Conflict},
		{Name: "into itself", Given: free, When: ledger.Carry{To: start, At: end}, Refused: domain.Conflict},
		{Name: "a period that was never opened", When: carry, Refused: domain.Conflict},
	})
}

func TestWhatIsLeft(t *testing.T) {
	for _, c := range []struct {
		name      string
		given     events
		spent     int64
		left      int64
		remaining int64
		limited   bool
	}{
		{"no credit", events{opened(plan.Free)}, 0, 0, 15_000, true},
		{"credit", events{opened(plan.Free), granted("g1", 100)}, 0, 100, 15_100, true},
		{"the plan is spent first", append(events{opened(plan.Free), granted("g1", 100)}, used("r1", 15_000)...), 0, 100, 100,
			true},
		{"then credit", append(events{opened(plan.Free), granted("g1", 100)}, used("r1", 15_001)...), 1, 99, 99, true},
		{"to the last one", append(events{opened(plan.Free), granted("g1", 100)}, used("r1", 15_100)...), 100, 0, 0, true},
		{"open reservations are not spent, and do not remain",
			events{opened(plan.Free), granted("g1", 100), reserved("r1", 15_050)}, 0, 100, 50, true},
		{"a metered plan past both", append(events{opened(plan.Indie), granted("g1", 100)}, used("r1", 200_500)...), 100, 0,
			0, true},
		{"a metered plan that reserves past both", events{opened(plan.Indie), granted("g1", 100), reserved("r1", 300_000)}, 0,
			100, 0, true},
		{"credit pays for what was billed before it", append(append(events{opened(plan.Indie)}, used("r1", 200_500)...),
			granted("g1", 800)), 500, 300, 300, true},
		{"no limit", append(events{opened(plan.Enterprise), granted("g1", 100)}, used("r1", 1e9)...), 0, 100, 0, false},
		{"over", events{opened(plan.Free), granted("g1", 100), carried(100)}, 0, 0, 15_000, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			state := spec.Fold(ledger.Evolve, c.given)
			require.Equal(t, c.spent, state.CreditSpent())
			require.Equal(t, c.left, state.CreditLeft())
			allowance := state.Allowance()
			require.Equal(t, ledger.Allowance{
				Plan: state.Terms.Plan, Limit: state.Terms.Limit, Settled: state.Settled, Reserved: state.Reserved, Credit: c.left,
			}, allowance)
			remaining, limited := allowance.Remaining()
			require.Equal(t, c.remaining, remaining)
			require.Equal(t, c.limited, limited)
		})
	}
}

// A release without credit would read a snapshot and miss the credit, so the credit is in an event that it cannot
// decode.
func TestASumWithCreditIsOfTwoEvents(t *testing.T) {
	state := spec.Fold(ledger.Evolve, events{opened(plan.Free), granted("g1", 100), carriedIn("c1", 5), reserved("r1", 7)})
	state.SinceSnapshot = ledger.SnapshotEvery
	snapshot := state.Snapshot(later)
	require.Equal(t, events{
		ledger.SnapshotTaken{PeriodOpened: state.Terms, Reservations: state.Open, At: later},
		ledger.CreditSnapshotTaken{Account: "a1", Grants: state.Grants, At: later},
	}, events(snapshot))
	again := spec.Fold(ledger.Evolve, snapshot)
	require.EqualValues(t, 105, again.Credit)
	require.Equal(t, state.Grants, again.Grants)

	// and no snapshot is taken after the end
	state.SinceSnapshot = ledger.SnapshotEvery
	state.Open, state.NextStart = nil, end
	snapshot = state.Snapshot(later)
	require.Empty(t, snapshot)
}

// Folding an event does not modify an earlier state.
func TestGrantsAreNotShared(t *testing.T) {
	state := spec.Fold(ledger.Evolve, events{opened(plan.Free), granted("g1", 1), granted("g2", 2), granted("g3", 3)})
	one, other := ledger.Evolve(state, granted("g4", 4)), ledger.Evolve(state, granted("g5", 5))
	require.Equal(t, "g4", one.Grants[3].Grant)
	require.Equal(t, "g5", other.Grants[3].Grant)
	require.Len(t, state.Grants, 3)
}
