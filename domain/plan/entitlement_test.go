package plan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/domain/plan"
)

func day(month, n int) time.Time { return time.Date(2026, time.Month(month), n, 10, 0, 0, 0, time.UTC) }

func TestPeriodsOfAnEntitlement(t *testing.T) {
	free := plan.Entitlement{Plan: plan.Free, Start: day(1, 31)}
	pro := plan.Entitlement{Plan: plan.Pro, Start: day(2, 28), End: day(3, 31), Next: plan.Pro, Anchor: day(1, 31)}
	cancelled, changed, moved := pro, pro, pro
	cancelled.Next, changed.Next, moved.Anchor = plan.Free, plan.Indie, day(1, 5)
	for name, c := range map[string]struct {
		e    plan.Entitlement
		at   time.Time
		want plan.Period
	}{
		"a free month": {free, day(3, 1),
			plan.Period{Plan: plan.Free, Start: day(2, 28), End: day(3, 31)}},
		"before the first one": {free, day(1, 1),
			plan.Period{Plan: plan.Free, Start: day(1, 31), End: day(2, 28)}},
		"one that was bought": {pro, day(3, 1),
			plan.Period{Plan: plan.Pro, Start: day(2, 28), End: day(3, 31)}},
		"before it": {pro, day(1, 1),
			plan.Period{Plan: plan.Pro, Start: day(2, 28), End: day(3, 31)}},
		"it goes on before anybody says so": {pro, day(3, 31),
			plan.Period{Plan: plan.Pro, Start: day(3, 31), End: day(4, 30)}},
		"and on, by the days of its anchor": {pro, day(5, 20),
			plan.Period{Plan: plan.Pro, Start: day(4, 30), End: day(5, 31)}},
		"an anchor that does not lead there": {moved, day(5, 20),
			plan.Period{Plan: plan.Pro, Start: day(4, 30), End: day(5, 31)}},
		"another one was scheduled": {changed, day(3, 31), plan.Period{Plan: plan.Indie, Start: day(3, 31),
			End: day(4, 30)}},
		"free months count anew after its end": {cancelled, day(5, 20),
			plan.Period{Plan: plan.Free, Start: day(4, 30), End: day(5, 31)}},
	} {
		require.Equal(t, c.want, c.e.At(c.at), name)
	}
}

func TestAnEntitlementTakesEffect(t *testing.T) {
	free := plan.Entitlement{Plan: plan.Free, Start: day(1, 5)}
	pro := plan.Entitlement{Plan: plan.Pro, Start: day(2, 10), End: day(3, 10), Next: plan.Pro, Anchor: day(2, 10)}
	ended := plan.Entitlement{Plan: plan.Free, Start: day(2, 20)}
	inPlace, over := pro, plan.Entitlement{Plan: plan.Pro, Start: day(3, 5)}
	inPlace.Start = ended.Start
	cancelled := pro
	cancelled.Next = plan.Free
	moment := day(2, 10).Add(time.Millisecond)
	indie := plan.Entitlement{Plan: plan.Indie, Start: day(2, 1), End: day(3, 1), Next: plan.Indie, Anchor: day(2, 1)}
	began := indie
	began.Start = day(2, 5) // when a free period ended
	for name, c := range map[string]struct {
		e, current, want plan.Entitlement
		at               time.Time
	}{
		"a plan that was bought begins when it was": {pro, free, pro, day(2, 10).Add(time.Minute)},
		"within the second in which the period has begun": {pro, plan.Entitlement{Plan: plan.Free, Start: moment},
			plan.Entitlement{Plan: plan.Pro, Start: moment, End: pro.End, Next: plan.Pro, Anchor: pro.Anchor}, moment},
		"free again":               {ended, pro, ended, day(2, 20)},
		"it was free all the time": {ended, free, free, day(2, 20)},
		"free, as the one before has said": {plan.Entitlement{Plan: plan.Free,
			Start: day(3, 10).Add(time.Second)}, cancelled, plan.Entitlement{Plan: plan.Free, Start: day(3, 10)}, day(3, 11)},
		"paid after all: the free period becomes a paid": {pro, ended, inPlace, day(2, 25)},
		"what comes late does not change what is over": {pro, free, plan.Entitlement{Plan: plan.Pro, Start: day(3, 5),
			End: day(3, 10), Next: plan.Pro, Anchor: day(2, 10)}, day(3, 6)},
		"and if all of it is over, what follows it counts": {plan.Entitlement{Plan: plan.Indie, Start: day(2, 4),
			End: day(3, 4), Next: plan.Pro}, free, over, day(3, 6)},
		"and if it ends within the second in which the period has begun": {plan.Entitlement{Plan: plan.Indie,
			Start: day(1, 10), End: moment.Add(time.Millisecond), Next: plan.Pro}, plan.Entitlement{Plan: plan.Free,
			Start: moment}, plan.Entitlement{Plan: plan.Pro, Start: moment}, moment.Add(time.Hour)},
		"over as well, of a plan that goes on as it has said": {indie, began, began, day(3, 1)},
		"one of a provider whose clock is ahead is in force":  {pro, free, pro, day(1, 6)},
	} {
		require.Equal(t, c.want, c.e.After(c.current, c.at), name)
	}
}

// For any changes at any times, a past period never begins again, and each time is in one period.
func TestPeriodsFollowEachOther(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		now := day(1, 5)
		current := plan.Entitlement{Plan: plan.Free, Start: now}
		for range rapid.IntRange(1, 12).Draw(r, "changes") {
			now = now.Add(time.Duration(rapid.IntRange(0, 1200).Draw(r, "hours")) * time.Hour)
			start := now.Add(time.Duration(rapid.IntRange(-1200, 5).Draw(r, "since")) * time.Hour)
			e := plan.Entitlement{Plan: plan.Free, Start: start}
			if rapid.Bool().Draw(r, "bought") {
				types := rapid.SampledFrom([]plan.Type{plan.Free, plan.Indie, plan.Pro})
				e = plan.Entitlement{Plan: types.Draw(r, "plan"), Start: start, End: start.AddDate(0, 1, 0),
					Next: types.Draw(r, "next"), Anchor: start}
			}
			before := current.At(now)
			current = e.After(current, now)
			after := current.At(now)
			require.False(r, after.Start.Before(before.Start), "%v, then %v", before, after)
			for range 5 {
				require.True(r, after.Start.Before(after.End), "%v", after)
				following := current.At(after.End)
				require.Equal(r, after.End, following.Start)
				require.Equal(r, after, current.At(after.End.Add(-1)))
				after = following
			}
		}
	})
}
