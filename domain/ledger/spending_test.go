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

// cents is 5 cents for each full 1,000 characters.
var cents = plan.Rate{Unit: 1_000, Millis: 5_000, Currency: "usd"}

func capped(amount *int64, currency string, version int64) ledger.SpendingCapSet {
	return ledger.SpendingCapSet{Account: "a1", SpendingCap: plan.SpendingCap{Amount: amount, Currency: currency,
		Version: version}, Rate: cents, Start: start, At: now}
}

func usd(amount int64, version int64) ledger.Event { return capped(&amount, "usd", version) }

func TestASpendingCap(t *testing.T) {
	full := events{opened(plan.Indie), reserved("r1", 200_000), settled("r1", 200_000)}
	given := func(more ...ledger.Event) events { return append(full[:len(full):len(full)], more...) }
	upgraded := ledger.TermsChanged{PeriodOpened: opened(plan.Pro).(ledger.PeriodOpened), Overage: 2_000, At: now}
	upgraded.Version = 1
	over := given(usd(10, 1), reserved("r2", 2_000), settled("r2", 2_000))
	spec.Run(t, ledger.Evolve, []row{
		{Name: "what costs the cap is reserved", Given: given(usd(10, 1)), When: reserve("r2", 2_999),
			Then: events{reserved("r2", 2_999)}},
		{Name: "what costs more is refused", Given: given(usd(10, 1)), When: reserve("r2", 3_000),
			Refused: domain.PaymentRequired},
		{Name: "what is reserved counts in full", Given: given(usd(10, 1), reserved("r2", 2_000)),
			When: reserve("r3", 1_000), Refused: domain.PaymentRequired},
		{Name: "and what of it was not delivered does not", Given: given(usd(10, 1), reserved("r2", 2_000),
			settled("r2", 999)), When: reserve("r3", 1_000), Then: events{reserved("r3", 1_000)}},
		{Name: "nor what has expired", Given: given(usd(10, 1), reserved("r2", 2_000), expired("r2")),
			When: reserve("r3", 2_999), Then: events{reserved("r3", 2_999)}},
		{Name: "a cap of 0 permits what the plan includes", Given: events{opened(plan.Indie), usd(0, 1)},
			When: reserve("r1", 200_000), Then: events{reserved("r1", 200_000)}},
		{Name: "and what costs nothing", Given: given(usd(0, 1)), When: reserve("r2", 999),
			Then: events{reserved("r2", 999)}},
		{Name: "but no unit", Given: given(usd(0, 1)), When: reserve("r2", 1_000), Refused: domain.PaymentRequired},
		{Name: "what credit pays for costs nothing", Given: given(usd(0, 1), ledger.CreditGranted{Account: "a1",
			Grant: "g", Characters: 5_000, Start: start, End: end, At: now}), When: reserve("r2", 5_999),
			Then: events{reserved("r2", 5_999)}},
		{Name: "without a cap everything is", Given: given(usd(0, 1), capped(nil, "", 2)), When: reserve("r2", 1e9),
			Then: events{reserved("r2", 1e9)}},
		{Name: "a cap in another currency permits nothing that costs", Given: given(capped(new(int64(900)), "jpy", 1)),
			When: reserve("r2", 1_000), Refused: domain.PaymentRequired},
		{Name: "earlier terms of the period count", Given: append(over[:len(over):len(over)], upgraded,
			reserved("r3", 1_049_000), settled("r3", 1_049_000)), When: reserve("r4", 2_000),
			Refused: domain.PaymentRequired},
		{Name: "but what the new plan includes does not", Given: append(over[:len(over):len(over)], upgraded),
			When: reserve("r4", 1_000_000), Then: events{reserved("r4", 1_000_000)}},
		{Name: "a cap below what was spent refuses what is past the plan", Given: append(over[:len(over):len(over)],
			usd(5, 2)), When: reserve("r3", 1), Refused: domain.PaymentRequired},
		{Name: "nothing is nothing", Given: append(over[:len(over):len(over)], usd(5, 2)), When: reserve("r3", 0),
			Then: events{reserved("r3", 0)}},
	})
}

func TestASettlementReachesAShareOfTheSpendingCap(t *testing.T) {
	reached := func(percent, spent int64) ledger.SpendingReached {
		return ledger.SpendingReached{Account: "a1", Percent: percent, Spent: spent, Cap: 20, Currency: "usd", Start: start,
			At: now}
	}
	past := func(characters int64, limit ledger.Event) events { // 1,000 more are reserved
		return events{opened(plan.Indie), limit, reserved("r1", 200_000+characters), settled("r1", 200_000+characters),
			reserved("r2", 1_000)}
	}
	settle, at := ledger.Settle{Reservation: "r2", Characters: 1_000, At: now}, settled("r2", 1_000)
	spec.Run(t, ledger.Evolve, []row{
		{Name: "less is not said", Given: past(1_999, usd(20, 1)), When: settle, Then: events{at}},
		{Name: "the first share", Given: past(3_000, usd(20, 1)), When: settle, Then: events{at, reached(100, 20)}},
		{Name: "80 %", Given: past(2_999, usd(18, 1)), When: settle, Then: events{at, ledger.SpendingReached{Account: "a1",
			Percent: 80, Spent: 15, Cap: 18, Currency: "usd", Start: start, At: now}}},
		{Name: "a cap of nothing has no share", Given: past(0, usd(0, 1)), When: settle, Then: events{at}},
		{Name: "nor has none", Given: past(0, capped(nil, "", 1)), When: settle, Then: events{at}},
		{Name: "nor one in another currency", Given: past(3_000, capped(new(int64(20)), "jpy", 1)), When: settle,
			Then: events{at}},
	})
}

func TestAPeriodFollowsASpendingCap(t *testing.T) {
	pro, _ := plan.Lookup(plan.Pro)
	indie, _ := plan.Lookup(plan.Indie)
	limit := plan.SpendingCap{Amount: new(int64(10)), Currency: "usd", Version: 2}
	open := ledger.OpenPeriod{Account: "a1", Plan: indie, Start: start, End: end, Cap: limit, Rate: cents, At: now}
	older, upgrade := open, open
	older.Cap = plan.SpendingCap{Version: 1}
	upgrade.Plan, upgrade.Version, upgrade.Rate = pro, 1, plan.Rate{Unit: 1_000, Millis: 4_500, Currency: "usd"}
	changed := ledger.TermsChanged{PeriodOpened: opened(plan.Pro).(ledger.PeriodOpened), At: now}
	changed.Version = 1
	repriced := usd(10, 2).(ledger.SpendingCapSet)
	repriced.Rate = upgrade.Rate
	spec.Run(t, ledger.Evolve, []row{
		{Name: "a new one", When: open, Then: events{opened(plan.Indie), usd(10, 2)}},
		{Name: "a running one", Given: events{opened(plan.Indie)}, When: open, Then: events{usd(10, 2)}},
		{Name: "once", Given: events{opened(plan.Indie), usd(10, 2)}, When: open},
		{Name: "not an older one", Given: events{opened(plan.Indie), usd(10, 2)}, When: older},
		{Name: "at the rate of new terms", Given: events{opened(plan.Indie), usd(10, 2)}, When: upgrade,
			Then: events{changed, repriced}},
		{Name: "not once it is over", Given: events{opened(plan.Indie), ledger.Ended{Account: "a1", Start: start, End: end,
			To: end, At: end}}, When: open},
	})
}

// For any history of a period, no accepted reservation can exceed the cap, whichever of the open ones are settled in
// full, and no reservation within the cap is refused. The price is counted unit by unit.
func TestNoReservationExceedsTheCapAndNoneThatFitsIsRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := plan.Rate{Unit: rapid.Int64Range(1, 9).Draw(t, "unit"), Millis: rapid.Int64Range(1, 4_000).Draw(t, "price"),
			Currency: "usd"}
		on := plan.Plan{Type: plan.Indie, Characters: rapid.Int64Range(0, 40).Draw(t, "limit"), Metered: true}
		var version, credit, settledInAll, earlier, capNow int64
		terms := func() ledger.OpenPeriod {
			return ledger.OpenPeriod{Account: "a1", Plan: on, Start: start, End: end, Version: version, At: now, Rate: rate,
				Cap: plan.SpendingCap{Amount: &capNow, Currency: "usd", Version: version + 1}}
		}
		var state ledger.State
		do := func(c command) error {
			decided, err := c.Decide(state)
			for _, event := range decided {
				state = ledger.Evolve(state, event)
			}
			return err
		}
		price := func(characters int64) (thousandths int64) { // unit by unit
			for left := characters - on.Characters - credit; left >= rate.Unit; left -= rate.Unit {
				thousandths += rate.Millis
			}
			return thousandths
		}
		capNow = rapid.Int64Range(0, 30).Draw(t, "cap")
		require.NoError(t, do(terms()))
		open := map[string]int64{}
		reserved := func() (sum int64) {
			for _, n := range open {
				sum += n
			}
			return sum
		}
		for step := range rapid.IntRange(1, 60).Draw(t, "steps") {
			id := fmt.Sprint(step)
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0, 1, 2:
				n := rapid.Int64Range(1, 30).Draw(t, "n")
				used := settledInAll + reserved() + n
				fits := used <= on.Characters+credit || earlier+price(used)/1000 <= capNow
				require.Equal(t, fits, do(reserve(id, n)) == nil, "%d of %d", earlier+price(used)/1000, capNow)
				if fits {
					open[id] = n
				}
			case 3:
				for id, n := range open {
					n = rapid.Int64Range(0, n).Draw(t, "settled")
					require.NoError(t, do(ledger.Settle{Reservation: id, Characters: n, At: now}))
					settledInAll += n
					delete(open, id)
					break
				}
			case 4:
				n := rapid.Int64Range(1, 10).Draw(t, "credit")
				require.NoError(t, do(ledger.Grant{Grant: id, Characters: n, At: now}))
				credit += n
			case 5: // another cap, or other terms, which bill the overage on the former ones
				version++
				limit := rapid.SampledFrom([]int64{on.Characters, 0, 20}).Draw(t, "next limit")
				if past := settledInAll - on.Characters - credit; past > 0 && limit != on.Characters {
					earlier += price(settledInAll) / 1000
					settledInAll -= past
				}
				on.Characters = limit
				capNow = rapid.Int64Range(0, 30).Draw(t, "cap")
				require.NoError(t, do(terms()))
			}
			require.Equal(t, earlier+price(settledInAll)/1000, state.Spent())
		}
	})
}

func TestASpendingCapIsInSnapshots(t *testing.T) {
	state := ledger.Evolve(ledger.Evolve(ledger.State{}, opened(plan.Indie)), usd(10, 2))
	for range ledger.SnapshotEvery {
		state = ledger.Evolve(state, settled("unknown", 1))
	}
	after := ledger.Evolve(ledger.State{}, state.Snapshot(now.Add(time.Hour))[0])
	require.Equal(t, state.Cap, after.Cap)
	require.Equal(t, state.Rate, after.Rate)
}
