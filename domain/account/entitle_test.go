package account_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/spec"
)

// bought is a plan for a month that starts a number of days after noon and renews itself.
func bought(on plan.Type, days int) plan.Entitlement {
	start := noon.AddDate(0, 0, days)
	return plan.Entitlement{Plan: on, Start: start, End: start.AddDate(0, 1, 0), Next: on, Anchor: start}
}

func TestEntitle(t *testing.T) {
	entitled := func(e plan.Entitlement, revision, version int64) account.Event {
		return account.Entitled{Account: "a1", Entitlement: e, Revision: revision, Version: version,
			At: e.Start.Add(time.Hour)}
	}
	entitle := func(e plan.Entitlement, revision int64) account.Entitle {
		return account.Entitle{Entitlement: e, Revision: revision, At: e.Start.Add(time.Hour)}
	}
	pro, renewed := bought(plan.Pro, 3), bought(plan.Pro, 3)
	renewed.Start, renewed.End = pro.End, pro.Start.AddDate(0, 2, 0)
	unknown := bought("golden", 3)
	unknownNext := bought(plan.Pro, 3)
	unknownNext.Next = "golden"
	spec.Run(t, account.Evolve, []row{
		{Name: "a plan is bought", Given: events{opened()}, When: entitle(pro, 0), Then: events{entitled(pro, 0, 1)}},
		{Name: "it is renewed", Given: events{opened(), entitled(pro, 4, 1)}, When: entitle(renewed, 9),
			Then: events{entitled(renewed, 9, 2)}},
		{Name: "following it again changes nothing", Given: events{opened(), entitled(pro, 4, 1)}, When: entitle(pro, 4)},
		{Name: "an older event changes nothing", Given: events{opened(), entitled(renewed, 9, 1)}, When: entitle(pro, 4)},
		{Name: "a closed account follows nothing", Given: events{opened(), closed()}, When: entitle(pro, 4)},
		{Name: "nobody follows nothing", When: entitle(pro, 4), Refused: domain.NotFound},
		{Name: "the plan must be known", Given: events{opened()}, When: entitle(unknown, 4), Refused: domain.Invalid},
		{Name: "the next one, too", Given: events{opened()}, When: entitle(unknownNext, 4), Refused: domain.Invalid},
	})
}

func TestThePeriodBeforeAnother(t *testing.T) {
	// given an account that was free, buys a plan, and renews it
	state := spec.Fold(account.Evolve, events{opened()})
	first := state.Entitlement.At(noon)
	_, found := state.PeriodBefore(first)
	require.False(t, found)
	before := func(at time.Time) plan.Period {
		t.Helper()
		period, found := state.PeriodBefore(state.Entitlement.At(at))
		require.True(t, found)
		return period
	}
	require.Equal(t, first, before(noon.AddDate(0, 1, 0)))

	follow := func(e plan.Entitlement, revision int64, at time.Time) {
		t.Helper()
		decided, err := account.Entitle{Entitlement: e, Revision: revision, At: at}.Decide(state)
		require.NoError(t, err)
		state = spec.Fold(account.Evolve, append(events{account.SnapshotTaken{Facts: state.Facts}}, decided...))
	}
	pro := bought(plan.Pro, 40)
	follow(pro, 1, pro.Start.Add(time.Minute))
	require.Equal(t, noon.AddDate(0, 1, 0), before(pro.Start).Start, "the second free one, which it has cut short")
	require.Equal(t, pro.Start, before(pro.End).Start)

	// then an entitlement that begins after an unobserved renewal keeps the period before that, too
	kept := len(state.Before)
	late := state
	late.Entitlement.Next = plan.Pro
	late.Entitlement.Anchor = pro.Start
	decided, err := account.Entitle{Entitlement: plan.Entitlement{Plan: plan.Free, Start: pro.End.AddDate(0, 1, 0)},
		Revision: 9, At: pro.End.AddDate(0, 1, 0)}.Decide(late)
	require.NoError(t, err)
	late = spec.Fold(account.Evolve, append(events{account.SnapshotTaken{Facts: late.Facts}}, decided...))
	require.Len(t, late.Before, kept+3)
	require.Equal(t, pro.Start, late.Before[kept].Start)
	require.Equal(t, pro.End, late.Before[kept+1].Start)
	require.Equal(t, late.Before[kept+1].Next, late.Before[kept+2].Start)

	// and a change of the running period leaves the period before it
	pro.Next = plan.Free
	follow(pro, 2, pro.Start.Add(time.Hour))
	require.Equal(t, noon.AddDate(0, 1, 0), before(pro.Start).Start)

	// and an entitlement from a provider with a clock ahead cuts the current period
	ahead := bought(plan.Premium, 400)
	follow(ahead, 3, pro.Start.Add(2*time.Hour))
	require.Equal(t, pro.Start, before(ahead.Start).Start)
}
