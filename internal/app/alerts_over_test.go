package app_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// The alert of an invoice ends when it is settled, and the alert of two subscriptions when one of them ends.
func TestAlertsOfBillingEndByThemselves(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	cfg := config(t)
	a := open(t, cfg)
	log := joinLog(t, cfg.DataDir)
	now := time.Now().UTC()
	write := func(expected eventlog.Revision, facts ...any) {
		t.Helper()
		appendTo(t, log, subscription.Stream("a1"), expected, facts...)
	}
	isOver := func(o alert.Open) bool {
		t.Helper()
		over, err := a.IsOver(t.Context(), o)
		require.NoError(t, err)
		return over
	}
	about := func(subject string, reason alert.Reason) alert.Open {
		return alert.Open{Condition: alert.Condition{Source: alert.PaymentsSource, Subject: subject, Reason: reason}}
	}
	unpaid := about("in_1", alert.Uncollected)
	doubled := about("sub_1 beside sub_2", alert.Doubled)

	// given an open invoice, one that is paid later, and two subscriptions
	invoice := func(id, status string) subscription.InvoiceRecorded {
		return subscription.InvoiceRecorded{Account: "a1", Invoice: id, Status: status, AmountDue: 5, Currency: "usd",
			CreatedAt: now, At: now}
	}
	terms := func(id, status string) subscription.Terms {
		return subscription.Terms{Subscription: id, Price: "price_pro", Plan: plan.Pro, Status: status, PeriodStart: now,
			PeriodEnd: now.AddDate(0, 1, 0), Anchor: now}
	}
	require.False(t, isOver(unpaid), "an invoice that is not in the read model is not over")
	require.False(t, isOver(doubled))
	write(eventlog.NoStream, invoice("in_1", "open"), invoice("in_2", "paid"),
		subscription.Created{Account: "a1", Terms: terms("sub_1", "active"), At: now},
		subscription.Created{Account: "a1", Terms: terms("sub_2", "active"), At: now})
	require.Eventually(t, func() bool {
		return isOver(about("in_2", alert.Uncollected))
	}, patience, pause)
	require.False(t, isOver(unpaid))
	require.False(t, isOver(doubled))

	// when the invoice is uncollectible, and a subscription ends, then both are over
	write(3, invoice("in_1", "uncollectible"),
		subscription.Ended{Account: "a1", Terms: terms("sub_1", "canceled"), EndedAt: now, At: now})
	require.Eventually(t, func() bool { return isOver(unpaid) && isOver(doubled) }, patience, pause)
}
