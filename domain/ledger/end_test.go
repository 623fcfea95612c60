package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/spec"
)

// cut is when the next period begins in these tests, before the end of the running one.
var cut = now.Add(time.Hour)

func openOn(t plan.Type, version int64) ledger.OpenPeriod {
	p, _ := plan.Lookup(t)
	return ledger.OpenPeriod{Account: "a1", Plan: p, Start: start, End: end, Version: version, At: now}
}

func changed(t plan.Type, version int64) ledger.Event {
	terms := opened(t).(ledger.PeriodOpened)
	terms.Version = version
	return ledger.TermsChanged{PeriodOpened: terms, At: now}
}

// changedFrom is a change of the terms of a version other than 0.
func changedFrom(before int64, t plan.Type, version int64) ledger.Event {
	e := changed(t, version).(ledger.TermsChanged)
	e.Before = before
	return e
}

// changedOver is a change of terms with an overage on the former terms.
func changedOver(t plan.Type, version, overage int64) ledger.Event {
	e := changed(t, version).(ledger.TermsChanged)
	e.Overage = overage
	return e
}

func ended() ledger.Event {
	return ledger.Ended{Account: "a1", Start: start, End: cut, To: cut, At: later}
}

func closedWith(overage int64, to time.Time) ledger.Event {
	return ledger.Closed{Account: "a1", Overage: overage, Start: start, To: to, At: to}
}

// closedOn is the end of a period on the terms of a version.
func closedOn(version, overage int64) ledger.Event {
	e := closedWith(overage, end).(ledger.Closed)
	e.Version = version
	return e
}

func TestTermsChangeWithTheEntitlement(t *testing.T) {
	indie := append(events{opened(plan.Free)}, changed(plan.Indie, 2))
	spec.Run(t, ledger.Evolve, []row{
		{Name: "newer terms take the place of older ones", Given: events{opened(plan.Free)}, When: openOn(plan.Indie, 2),
			Then: events{changed(plan.Indie, 2)}},
		{Name: "once", Given: indie, When: openOn(plan.Indie, 2)},
		{Name: "older ones change nothing", Given: indie, When: openOn(plan.Pro, 1)},
		{Name: "a period that is over keeps its terms", Given: append(indie[:2:2], ended()), When: openOn(plan.Pro, 3)},
		{Name: "what was used counts on the new terms", Given: append(used("r1", 15_000), indie...),
			When: reserve("r2", 300_000), Then: events{reserved("r2", 300_000)}},
		{Name: "also where they are less", Given: append(append(events{opened(plan.Indie)}, used("r1", 20_000)...),
			changed(plan.Free, 1)),
			When: reserve("r2", 1), Refused: domain.PaymentRequired},
		{Name: "what exceeds a metered plan by then is billed on its terms",
			Given: append(events{opened(plan.Indie)}, used("r1", 212_345)...),
			When:  openOn(plan.Pro, 2), Then: events{changedOver(plan.Pro, 2, 12_345)}},
		{Name: "beyond the credit", Given: append(events{opened(plan.Indie), granted("g1", 12_000)}, used("r1", 212_345)...),
			When: openOn(plan.Pro, 2), Then: events{changedOver(plan.Pro, 2, 345)}},
		{Name: "once", Given: append(append(events{opened(plan.Indie)}, used("r1", 212_345)...),
			changedOver(plan.Pro, 2, 12_345)),
			When: openOn(plan.Premium, 3), Then: events{changedFrom(2, plan.Premium, 3)}},
		{Name: "not what is past a plan without a price for it",
			Given: append(events{opened(plan.Free)}, used("r1", 20_000)...),
			When:  openOn(plan.Indie, 1), Then: events{changed(plan.Indie, 1)}},
	})
	given := append(append(events{opened(plan.Indie)}, used("r1", 212_345)...), changedOver(plan.Free, 1, 12_345))
	require.EqualValues(t, 200_000, spec.Fold(ledger.Evolve, given).Settled,
		"what is billed does not count on the new terms")
}

func TestAPeriodEnds(t *testing.T) {
	open := events{opened(plan.Free), granted("g1", 100), reserved("r1", 1_000)}
	over := append(open[:3:3], ended())
	settledOver := append(over[:4:4], settled("r1", 900))
	carriedOver := ledger.CreditCarried{Account: "a1", Characters: 100, Start: start, To: end, At: later}
	spec.Run(t, ledger.Evolve, []row{
		{Name: "where the next one begins", Given: open, When: ledger.End{To: cut, At: later}, Then: events{ended()}},
		{Name: "once", Given: over, When: ledger.End{To: end, At: later}},
		{Name: "at its own end at the latest", Given: open, When: ledger.End{To: nextMonth, At: nextMonth},
			Then: events{ledger.Ended{Account: "a1", Start: start, End: end, To: nextMonth, At: nextMonth}}},
		{Name: "not for itself", Given: open, When: ledger.End{To: start, At: later}, Refused: domain.Conflict},
		{Name: "not if it was never opened", When: ledger.End{To: cut, At: later}, Refused: domain.Conflict},
		{Name: "nothing more is reserved", Given: over, When: reserve("r2", 1), Refused: domain.Conflict},
		{Name: "nothing is granted", Given: over, When: grant("g2", 1), Refused: domain.Conflict},
		{Name: "what was reserved is settled", Given: over, When: ledger.Settle{Reservation: "r1", Characters: 900, At: now},
			Then: events{settled("r1", 900)}},
		{Name: "credit waits for that", Given: over, When: ledger.Carry{To: end, At: later}},
		{Name: "and is carried on, before the end that the period had", Given: settledOver,
			When: ledger.Carry{To: end, At: later}, Then: events{carriedOver}},
		{Name: "once, too", Given: append(settledOver[:5:5], carriedOver), When: ledger.Carry{To: end, At: later}},
	})
}

func TestAPeriodIsClosed(t *testing.T) {
	closing := ledger.Close{To: end, At: end}
	over := func(t plan.Type, characters int64, more ...ledger.Event) events {
		return append(append(events{opened(t)}, used("r1", characters)...), more...)
	}
	spec.Run(t, ledger.Evolve, []row{
		{Name: "with the characters past plan and credit", Given: over(plan.Indie, 212_445, granted("g1", 100)),
			When: closing, Then: events{closedWith(12_345, end)}},
		{Name: "without any", Given: over(plan.Indie, 200_000), When: closing, Then: events{closedWith(0, end)}},
		{Name: "a plan that is not metered has none", Given: over(plan.Free, 20_000), When: closing,
			Then: events{closedWith(0, end)}},
		{Name: "nor has one without a limit", Given: over(plan.Enterprise, 1e9), When: closing,
			Then: events{closedWith(0, end)}},
		{Name: "the terms of its end count", Given: over(plan.Free, 212_345, changed(plan.Indie, 2)), When: closing,
			Then: events{closedOn(2, 12_345)}},
		{Name: "without what was billed on earlier ones",
			Given: append(over(plan.Indie, 212_345, changedOver(plan.Pro, 2, 12_345)), used("r2", 1_150_000)...),
			When:  closing, Then: events{closedOn(2, 100_000)}},
		{Name: "not before its end", Given: over(plan.Indie, 212_345), When: ledger.Close{To: end, At: end.Add(-1)},
			Refused: domain.Conflict},
		{Name: "not while it goes on", Given: over(plan.Indie, 212_345), When: ledger.Close{To: start, At: end},
			Refused: domain.Conflict},
		{Name: "where it has ended, at any time", Given: over(plan.Indie, 212_345, ended()),
			When: ledger.Close{To: cut, At: cut}, Then: events{closedWith(12_345, cut)}},
		{Name: "not while something is reserved", Given: over(plan.Indie, 212_345, reserved("r2", 1)), When: closing},
		{Name: "once", Given: over(plan.Indie, 212_345, closedWith(12_345, end)),
			When: ledger.Close{To: nextMonth, At: nextMonth}},
		{Name: "nothing more is reserved", Given: over(plan.Indie, 212_345, closedWith(12_345, end)), When: reserve("r2", 1),
			Refused: domain.Conflict},
		{Name: "not if it was never opened", When: closing, Refused: domain.Conflict},
	})
	state := spec.Fold(ledger.Evolve, over(plan.Indie, 212_345, ended(), closedWith(12_345, end)))
	require.Equal(t, cut, state.NextStart, "as it was when the period ended")
}

func TestOverageIsBilledOnce(t *testing.T) {
	given := events{opened(plan.Indie), changedOver(plan.Pro, 2, 345), closedOn(2, 12_345)}
	billed := func(version, characters int64) ledger.Event {
		return ledger.OverageBilled{
			Account: "a1", Version: version, Characters: characters, Units: 12, Amount: 60, Currency: "usd", Item: "ii_1",
			Start: start, At: end,
		}
	}
	record := func(version int64) ledger.RecordBilled {
		return ledger.RecordBilled{Version: version, Units: 12, Amount: 60, Currency: "usd", Item: "ii_1", At: end}
	}
	spec.Run(t, ledger.Evolve, []row{
		{Name: "what is billed", Given: given, When: record(2), Then: events{billed(2, 12_345)}},
		{Name: "on earlier terms, while the period goes on", Given: given[:2], When: record(0), Then: events{billed(0, 345)}},
		{Name: "each by itself", Given: append(given[:3:3], billed(0, 345)), When: record(2),
			Then: events{billed(2, 12_345)}},
		{Name: "once", Given: append(given[:3:3], billed(2, 12_345)), When: ledger.RecordBilled{Version: 2, Units: 13,
			At: end}},
		{Name: "not before the terms end", Given: given[:2], When: record(2), Refused: domain.Conflict},
	})
}

// Whenever terms change, each character is either within plan and credit of the terms at its end, or billed once, on
// the terms on which it exceeded them. The test marks the characters one by one.
func TestEachCharacterIsIncludedOrBilledOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		terms := func(version int64) ledger.OpenPeriod {
			on := plan.Plan{Type: plan.Indie, Characters: rapid.Int64Range(0, 40).Draw(t, "limit"),
				Metered: rapid.Bool().Draw(t, "metered")}
			return ledger.OpenPeriod{Account: "a1", Plan: on, Start: start, End: end, Version: version, At: now}
		}
		var state ledger.State
		do := func(c command) error {
			decided, err := c.Decide(state)
			for _, event := range decided {
				state = ledger.Evolve(state, event)
			}
			return err
		}
		const included = int64(-1)
		var marks []int64 // of each character, the version on which it is billed
		var credit int64
		last := terms(0)
		require.NoError(t, do(last))
		mark := func() {
			room := last.Plan.Characters + credit
			for i, m := range marks {
				switch {
				case m != included || !last.Plan.Metered:
				case room > 0:
					room--
				default:
					marks[i] = last.Version
				}
			}
		}
		for step := range rapid.IntRange(1, 40).Draw(t, "steps") {
			id := fmt.Sprint(step)
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0, 1:
				n := rapid.Int64Range(0, 30).Draw(t, "n")
				if do(reserve(id, n)) != nil {
					continue
				}
				n = rapid.Int64Range(0, n).Draw(t, "settled")
				require.NoError(t, do(ledger.Settle{Reservation: id, Characters: n, At: now}))
				for range n {
					marks = append(marks, included)
				}
			case 2:
				n := rapid.Int64Range(1, 10).Draw(t, "credit")
				require.NoError(t, do(ledger.Grant{Grant: id, Characters: n, At: now}))
				credit += n
			case 3:
				next := terms(last.Version + 1)
				if next.Plan != last.Plan {
					mark()
				}
				last = next
				require.NoError(t, do(last))
			}
		}
		mark()
		require.NoError(t, do(ledger.Close{To: end, At: end}))
		want := map[int64]int64{}
		for _, m := range marks {
			if m != included {
				want[m]++
			}
		}
		got := map[int64]int64{}
		for _, o := range state.Overages {
			require.NotContains(t, got, o.Version)
			got[o.Version] = o.Characters
		}
		require.Equal(t, want, got)
	})
}
