package app_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// The account and its periods follow the subscription's stream automatically, and usage beyond the plan is billed.
func TestAnAccountAndItsPeriodsFollowTheSubscription(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given a running recitald, and a free account that uses its period
	cfg := config(t)
	a := open(t, cfg)
	log := joinLog(t, cfg.DataDir)
	write := func(stream string, expected eventlog.Revision, events ...any) eventlog.Revision {
		t.Helper()
		return appendTo(t, log, stream, expected, events...)
	}
	last := eventlog.NoStream // event of the period that was read
	period := func(start time.Time) (s ledger.State) {
		for _, e := range eventsOf(t, log, fmt.Sprintf("usage-a1-%d", start.Unix()), 0) {
			s = ledger.Evolve(s, e.Event.(ledger.Event))
			last = eventlog.Revision(e.Revision)
		}
		return s
	}
	now := time.Now().UTC().Truncate(time.Second)
	opened, bought, lapsed := now.AddDate(0, 0, -20), now.AddDate(0, 0, -10), now.AddDate(0, 0, -1)
	_, end := plan.MonthlyPeriod(opened, opened)
	limit := int64(15_000)
	write("account-a1", eventlog.NoStream, account.Opened{Account: "a1", Plan: plan.Free, At: opened})
	write(fmt.Sprintf("usage-a1-%d", opened.Unix()), eventlog.NoStream,
		ledger.PeriodOpened{Account: "a1", Plan: plan.Free, Limit: &limit, Start: opened, End: end},
		ledger.CreditGranted{Account: "a1", Grant: "g", Characters: 500, Start: opened, End: end, At: opened})

	// when the subscription gives it a plan, then the free period ends, the next one is on that plan, and credit is
	// carried over
	pro := plan.Entitlement{
		Plan: plan.Indie, Start: bought, End: bought.AddDate(0, 1, 0), Next: plan.Indie, Anchor: bought,
	}
	revision := write(subscription.Stream("a1"), eventlog.NoStream,
		subscription.Entitled{Account: "a1", Entitlement: pro, At: now})
	require.Eventually(t, func() bool { return period(bought).Credit == 500 }, patience, pause)
	require.Equal(t, plan.Indie, period(bought).Terms.Plan)
	require.EqualValues(t, 1, period(bought).Terms.Version)
	require.Equal(t, bought, period(opened).Terms.End)
	require.EqualValues(t, 500, period(bought).CreditLeft())

	// when it exceeds the plan and loses it, then the overage is closed for billing
	used := ledger.Reserved{
		Account: "a1", Reservation: uuid.NewString(), Characters: 212_845, Source: ledger.API,
		At: bought, ExpiresAt: now.Add(time.Hour),
	}
	write(fmt.Sprintf("usage-a1-%d", bought.Unix()), last, used,
		ledger.Settled{
			Account: "a1", Reservation: used.Reservation, Characters: 212_845, Source: ledger.API, Start: bought, At: bought,
		})
	write(subscription.Stream("a1"), revision, subscription.Entitled{
		Account: "a1", Entitlement: plan.Entitlement{Plan: plan.Free, Start: lapsed}, At: now,
	})
	require.Eventually(t, func() bool {
		over, _ := period(bought).OverageOn(1)
		return over.Billed && over.Characters == 12_345
	}, patience, pause)
	require.Equal(t, plan.Free, period(lapsed).Terms.Plan)
	require.EqualValues(t, 2, period(lapsed).Terms.Version)

	// and no to-do has failed or remains
	token := secret(t, cfg, "operator-token")
	for _, process := range []string{"entitle", "follow_entitlement", "credit", "close_period", "bill_overage"} {
		require.Eventually(t, func() bool {
			return slices.Contains(figures(t, a, token), fmt.Sprintf("recital_todo_due_items{process=%q} 0", process))
		}, patience, pause, process)
		require.Contains(t, figures(t, a, token), fmt.Sprintf("recital_todo_failures_total{process=%q} 0", process))
	}
}
