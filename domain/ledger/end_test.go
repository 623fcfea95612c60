package ledger_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

func ended() ledger.Event {
	return ledger.Ended{Account: "a1", Start: start, End: cut, To: cut, At: later}
}

func closedWith(overage int64, to time.Time) ledger.Event {
	return ledger.Closed{Account: "a1", Overage: overage, Start: start, To: to, At: to}
}

func TestTermsChangeWithTheEntitlement(t *testing.T) {
	indie := append(events{opened(plan.Free)}, changed(plan.Indie, 2))
	spec.Run(t, ledger.Evolve, []row{
		{Name: "newer terms take the place of older ones", Given: events{opened(plan.Free)}, When: openOn(plan.Indie, 2), Then: events{changed(plan.Indie, 2)}},
		{Name: "once", Given: indie, When: openOn(plan.Indie, 2)},
		{Name: "older ones change nothing", Given: indie, When: openOn(plan.Pro, 1)},
		{Name: "a period that is over keeps its terms", Given: append(indie[:2:2], ended()), When: openOn(plan.Pro, 3)},
		{Name: "what was used counts on the new terms", Given: append(used("r1", 15_000), indie...), When: reserve("r2", 300_000), Then: events{reserved("r2", 300_000)}},
		{Name: "also where they are less", Given: append(append(events{opened(plan.Indie)}, used("r1", 20_000)...), changed(plan.Free, 1)),
			When: reserve("r2", 1), Refused: domain.PaymentRequired},
	})
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
		{Name: "what was reserved is settled", Given: over, When: ledger.Settle{Reservation: "r1", Characters: 900, At: now}, Then: events{settled("r1", 900)}},
		{Name: "credit waits for that", Given: over, When: ledger.Carry{To: end, At: later}},
		{Name: "and is carried on, before the end that the period had", Given: settledOver, When: ledger.Carry{To: end, At: later}, Then: events{carriedOver}},
		{Name: "once, too", Given: append(settledOver[:5:5], carriedOver), When: ledger.Carry{To: end, At: later}},
	})
}

func TestAPeriodIsClosed(t *testing.T) {
	closing := ledger.Close{To: end, At: end}
	over := func(t plan.Type, characters int64, more ...ledger.Event) events {
		return append(append(events{opened(t)}, used("r1", characters)...), more...)
	}
	spec.Run(t, ledger.Evolve, []row{
		{Name: "with the characters past plan and credit", Given: over(plan.Indie, 212_445, granted("g1", 100)), When: closing, Then: events{closedWith(12_345, end)}},
		{Name: "without any", Given: over(plan.Indie, 200_000), When: closing, Then: events{closedWith(0, end)}},
		{Name: "a plan that is not metered has none", Given: over(plan.Free, 20_000), When: closing, Then: events{closedWith(0, end)}},
		{Name: "nor has one without a limit", Given: over(plan.Enterprise, 1e9), When: closing, Then: events{closedWith(0, end)}},
		{Name: "the terms of its end count", Given: over(plan.Indie, 212_345, changed(plan.Pro, 2)), When: closing, Then: events{closedWith(0, end)}},
		{Name: "not before its end", Given: over(plan.Indie, 212_345), When: ledger.Close{To: end, At: end.Add(-1)}, Refused: domain.Conflict},
		{Name: "not while it goes on", Given: over(plan.Indie, 212_345), When: ledger.Close{To: start, At: end}, Refused: domain.Conflict},
		{Name: "where it has ended, at any time", Given: over(plan.Indie, 212_345, ended()), When: ledger.Close{To: cut, At: cut}, Then: events{closedWith(12_345, cut)}},
		{Name: "not while something is reserved", Given: over(plan.Indie, 212_345, reserved("r2", 1)), When: closing},
		{Name: "once", Given: over(plan.Indie, 212_345, closedWith(12_345, end)), When: ledger.Close{To: nextMonth, At: nextMonth}},
		{Name: "nothing more is reserved", Given: over(plan.Indie, 212_345, closedWith(12_345, end)), When: reserve("r2", 1), Refused: domain.Conflict},
		{Name: "not if it was never opened", When: closing, Refused: domain.Conflict},
	})
	state := spec.Fold(ledger.Evolve, over(plan.Indie, 212_345, ended(), closedWith(12_345, end)))
	require.Equal(t, cut, state.NextStart, "as it was when the period ended")
}

func TestOverageIsBilledOnce(t *testing.T) {
	given := events{opened(plan.Indie), closedWith(12_345, end)}
	billed := ledger.OverageBilled{Account: "a1", Characters: 12_345, Units: 12, Amount: 60, Currency: "usd", Item: "ii_1", Start: start, At: end}
	record := ledger.RecordBilled{Units: 12, Amount: 60, Currency: "usd", Item: "ii_1", At: end}
	spec.Run(t, ledger.Evolve, []row{
		{Name: "what is billed", Given: given, When: record, Then: events{billed}},
		{Name: "once", Given: append(given[:2:2], billed), When: ledger.RecordBilled{Units: 13, At: end}},
		{Name: "not before the closing", Given: given[:1], When: record, Refused: domain.Conflict},
	})
}
