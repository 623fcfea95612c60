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

type (
	row    = spec.Case[ledger.State, ledger.Event]
	events = []ledger.Event
)

var (
	start = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	end   = start.AddDate(0, 1, 0)
	now   = start.AddDate(0, 0, 20)
	later = now.Add(10 * time.Minute)
)

func opened(t plan.Type) ledger.Event {
	p, _ := plan.Lookup(t)
	decided, _ := ledger.OpenPeriod{Account: "a1", Plan: p, Start: start, End: end}.Decide(ledger.State{})
	return decided[0]
}

func reserved(id string, characters int64) ledger.Event {
	return ledger.Reserved{Account: "a1", Reservation: id, Characters: characters, At: now, ExpiresAt: later}
}

func settled(id string, characters int64) ledger.Event {
	return ledger.Settled{Account: "a1", Reservation: id, Characters: characters, Start: start, At: now}
}

func expired(id string) ledger.Event {
	return ledger.Expired{Account: "a1", Reservation: id, At: later}
}

func reserve(id string, characters int64) ledger.Reserve {
	return ledger.Reserve{Reservation: id, Characters: characters, At: now, ExpiresAt: later}
}

func TestReserve(t *testing.T) {
	spec.Run(t, ledger.Evolve, []row{
		{Name: "what fits is reserved", Given: events{opened(plan.Free)}, When: reserve("r1", 15_000),
			Then: events{reserved("r1", 15_000)}},
		{Name: "what does not fit a free plan is refused", Given: events{opened(plan.Free)}, When: reserve("r1", 15_001),
			Refused: domain.PaymentRequired},
		{Name: "open reservations count", Given: events{opened(plan.Free), reserved("r1", 10_000)},
			When: reserve("r2", 5_001), Refused: domain.PaymentRequired},
		{Name: "what was settled counts", Given: events{opened(plan.Free), reserved("r1", 10_000), settled("r1", 10_000)},
			When: reserve("r2", 5_001), Refused: domain.PaymentRequired},
		{Name: "what was not settled is free again", Given: events{opened(plan.Free), reserved("r1", 10_000),
			settled("r1", 100)},
			When: reserve("r2", 14_900), Then: events{reserved("r2", 14_900)}},
		{Name: "a paid plan goes on past its limit", Given: events{opened(plan.Indie), reserved("r1", 200_000),
			settled("r1", 200_000)},
			When: reserve("r2", 5_000), Then: events{reserved("r2", 5_000)}},
		{Name: "enterprise has no limit", Given: events{opened(plan.Enterprise)}, When: reserve("r1", 1e12),
			Then: events{reserved("r1", 1e12)}},
		{Name: "reserving again changes nothing", Given: events{opened(plan.Free), reserved("r1", 10)},
			When: reserve("r1", 10)},
		{Name: "the period must be open", When: reserve("r1", 1), Refused: domain.Conflict},
		{Name: "a negative number is refused", Given: events{opened(plan.Free)}, When: reserve("r1", -1),
			Refused: domain.Invalid},
	})
}

func TestWhatIsBroughtInCounts(t *testing.T) {
	p, _ := plan.Lookup(plan.Free)
	open := ledger.OpenPeriod{Account: "a1", Plan: p, Start: start, End: end, BroughtIn: 9_000}
	given := events{opened(plan.Free), ledger.BroughtIn{Account: "a1", Characters: 9_000, Start: start}}
	spec.Run(t, ledger.Evolve, []row{
		{Name: "it comes with the opening", When: open, Then: given},
		{Name: "once", Given: given, When: open},
		{Name: "the rest of the plan can be used", Given: given, When: reserve("r1", 6_000),
			Then: events{reserved("r1", 6_000)}},
		{Name: "and no more", Given: given, When: reserve("r1", 6_001), Refused: domain.PaymentRequired},
	})
}

// A settlement counts for the source of its reservation.
func TestASettlementHasTheSourceOfItsReservation(t *testing.T) {
	reserve := ledger.Reserve{Reservation: "r1", Characters: 9, Source: ledger.Playground, At: now, ExpiresAt: later}
	open := events{opened(plan.Free), ledger.Reserved{Account: "a1", Reservation: "r1", Characters: 9,
		Source: ledger.Playground, At: now, ExpiresAt: later}}
	spec.Run(t, ledger.Evolve, []row{
		{Name: "reserved", Given: open[:1], When: reserve, Then: open[1:]},
		{Name: "settled", Given: open, When: ledger.Settle{Reservation: "r1", Characters: 7, At: now},
			Then: events{ledger.Settled{Account: "a1", Reservation: "r1", Characters: 7, Source: ledger.Playground, Start: start,
				At: now}}},
	})
}

func TestASettlementReachesAShareOfTheCharacters(t *testing.T) {
	reached := func(percent, used, limit int64) ledger.UsageReached {
		return ledger.UsageReached{Account: "a1", Percent: percent, Characters: used, Limit: limit, Start: start, At: now}
	}
	used := func(characters int64) events { // the same number is reserved in addition
		return events{opened(plan.Free), reserved("r0", characters), settled("r0", characters), reserved("r1", 10_000)}
	}
	settle := ledger.Settle{Reservation: "r1", Characters: 3_000, At: now}
	credit := ledger.CreditGranted{Account: "a1", Grant: "g1", Characters: 5_000, Start: start, End: end, At: now}
	at := settled("r1", 3_000)
	spec.Run(t, ledger.Evolve, []row{
		{Name: "less is not said", Given: used(8_999), When: settle, Then: events{at}},
		{Name: "80 %", Given: used(9_000), When: settle, Then: events{at, reached(80, 12_000, 15_000)}},
		{Name: "80 % is said once", Given: used(12_000)[:3:3], When: reserve("r2", 1), Then: events{reserved("r2", 1)}},
		{Name: "nothing between", Given: used(12_000)[:4:4], When: ledger.Settle{Reservation: "r1", Characters: 2_999,
			At: now}, Then: events{settled("r1", 2_999)}},
		{Name: "100 %", Given: used(12_000), When: settle, Then: events{at, reached(100, 15_000, 15_000)}},
		{Name: "both at once are 100 %", Given: used(11_999), When: ledger.Settle{Reservation: "r1", Characters: 9_000,
			At: now}, Then: events{settled("r1", 9_000), reached(100, 20_999, 15_000)}},
		{Name: "credit counts", Given: append(used(13_000), credit), When: settle,
			Then: events{at, reached(80, 16_000, 20_000)}},
		{Name: "without a limit there is no share", Given: append(events{opened(plan.Enterprise)}, used(12_000)[1:]...),
			When: settle, Then: events{at}},
		{Name: "a period that is over says nothing", Given: append(used(12_000), ledger.Ended{Account: "a1", Start: start,
			End: end, To: end, At: now}), When: settle, Then: events{at}},
	})
}

func TestSettle(t *testing.T) {
	settle := func(id string, characters int64) ledger.Settle {
		return ledger.Settle{Reservation: id, Characters: characters, At: now}
	}
	open := events{opened(plan.Free), reserved("r1", 100)}
	spec.Run(t, ledger.Evolve, []row{
		{Name: "what was handed over is settled", Given: open, When: settle("r1", 60), Then: events{settled("r1", 60)}},
		{Name: "nothing can be settled", Given: open, When: settle("r1", 0), Then: events{settled("r1", 0)}},
		{Name: "settling again changes nothing", Given: append(open, settled("r1", 60)), When: settle("r1", 60)},
		{Name: "an expired reservation stays at zero", Given: append(open, expired("r1")), When: settle("r1", 60)},
		{Name: "more than was reserved is refused", Given: open, When: settle("r1", 101), Refused: domain.Invalid},
	})
}

// seen is an expiry with a reservation first seen at one reading of a monotonic clock, executed at another.
func seen(first, now time.Duration) ledger.Expire {
	return ledger.Expire{Seen: map[string]time.Duration{"r1": first}, Now: now, At: later}
}

func TestExpire(t *testing.T) {
	open := events{opened(plan.Free), reserved("r1", 100), reserved("r2", 5), settled("r2", 5)}
	spec.Run(t, ledger.Evolve, []row{
		{Name: "what was seen open for long enough expires", Given: open, When: seen(7, 7+10*time.Minute),
			Then: events{expired("r1")}},
		{Name: "what was not stays, whatever the time of day", Given: open, When: seen(7, 7+10*time.Minute-1)},
		{Name: "what is new stays", Given: open, When: ledger.Expire{Now: time.Hour, At: later}},
	})
}

func TestASumIsDueAfterAThousandEvents(t *testing.T) {
	state := ledger.Evolve(ledger.State{}, opened(plan.Enterprise))
	for range ledger.SnapshotEvery - 2 {
		state = ledger.Evolve(state, settled("unknown", 1))
	}
	none := state.Snapshot(now)
	require.Empty(t, none)

	state = ledger.Evolve(state, reserved("r1", 7))
	snapshot := state.Snapshot(now)
	require.Len(t, snapshot, 1)

	after := ledger.Evolve(state, snapshot[0])
	require.Zero(t, after.SinceSnapshot)
	require.Equal(t, state.Settled, after.Settled)
	require.Equal(t, int64(7), after.Reserved)
}
