package main_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/providers/payments"
	"github.com/recital-tts/recital/internal/standins/sandbox"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// afterRenewal is the time after which the invoice of a new period has been tried once.
const afterRenewal = 2 * time.Hour

// untilNext advances the provider's clock into the next period of an account.
func (b *paymentProvider) untilNext(account string) {
	b.t.Helper()
	require.NoError(b.t, b.Advance(b.billing(account).Subscriptions[0].PeriodEnd.Sub(b.Now())+afterRenewal))
}

// planOf returns the plan that a subscription at the provider gives.
func planOf(t *testing.T, has payments.Subscription) plan.Type {
	t.Helper()
	switch has.Status {
	case "active", "trialing", "past_due":
	default:
		return plan.Free
	}
	for _, of := range []plan.Type{plan.Indie, plan.Pro, plan.Premium} {
		if has.Price == sandbox.PriceOf(string(of)) {
			return of
		}
	}
	require.FailNow(t, "an unknown price", has.Price)
	return ""
}

// disagreement returns the differences of overview, account and history from the provider's state, "" if there are
// none.
func (c customer) disagreement(t *testing.T, has payments.Billing) string {
	t.Helper()
	seen, account, is := c.billing(t), c.account(t), has.Subscriptions[0]
	differs := func(what string, ours, theirs any) string {
		if fmt.Sprint(ours) == fmt.Sprint(theirs) {
			return ""
		}
		return fmt.Sprintf("%s: %v here, %v at the provider\n", what, ours, theirs)
	}
	said := differs("status", seen.status(), is.Status) +
		differs("price", *seen.Subscription.PriceID, is.Price) +
		differs("end of the period", seen.Subscription.CurrentPeriodEnd, is.PeriodEnd.Unix()) +
		differs("cancellation", seen.Subscription.CancelAtPeriodEnd, is.CancelAtPeriodEnd) +
		differs("scheduled change", seen.Subscription.ScheduledChange != nil, is.Scheduled != nil) +
		differs("plan", account.Plan.Type, planOf(t, is)) +
		differs("state in the account", *account.SubState, is.Status) +
		differs("cancellation in the account", account.CancelAtPeriodEnd, is.CancelAtPeriodEnd) +
		differs("invoices", len(seen.Invoices), len(has.Invoices))
	if account.Plan.Type != plan.Free {
		said += differs("end of the account's period", account.Usage.PeriodEnd, is.PeriodEnd.Unix())
	}
	paid := map[string]string{}
	for _, i := range has.Invoices {
		paid[i.ID] = fmt.Sprint(i.Status, i.AmountPaid, i.Currency)
	}
	for _, i := range seen.Invoices {
		said += differs("invoice "+i.ID, fmt.Sprint(i.Status, i.AmountPaid, i.Currency), paid[i.ID])
	}
	return said
}

// agrees waits until the owner sees the provider's state.
func (c customer) agrees(t *testing.T, b *paymentProvider, when string) payments.Billing {
	t.Helper()
	var has payments.Billing
	var said string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(2 * pause) {
		has = b.billing(c.id)
		if said = c.disagreement(t, has); said == "" {
			return has
		}
	}
	require.FailNow(t, when, said)
	return has
}

// TestAYearOfASubscription goes through renewals, failed payments, refunds and disputes. After each step overview,
// account and provider agree.
func TestAYearOfASubscription(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	b := openPaymentProvider(t)
	s := b.serve(dataFolder(t), "--longest-stream=1s")
	c := s.openAccount("free")
	var answer map[string]any
	made := c.subscribe(t, "indie")
	b.pays(made.ClientSecret, "pm_card_visa")
	has := c.agrees(t, b, "after the first payment")
	passes := func(when string) payments.Billing {
		t.Helper()
		b.untilNext(c.id)
		return c.agrees(t, b, when)
	}

	// the second and third months are paid, with some usage in between
	passes("after a renewal")
	require.Equal(t, 200, c.post(t, bytesRoute, order{"text": "Hello.", "voice": "leah"}).status)
	require.EqualValues(t, len("Hello."), c.usage(t))
	has = passes("after another")
	require.Len(t, has.Invoices, 3)
	require.Zero(t, c.usage(t), "of a new period")

	// an upgrade, and a downgrade that takes effect at the end of the period
	c.succeeds(t, "change-plan", order{"price_id": sandbox.PriceOf("premium")}, &answer)
	require.Equal(t, plan.Premium, planOf(t, c.agrees(t, b, "after an upgrade").Subscriptions[0]))
	c.succeeds(t, "change-plan", order{"price_id": sandbox.PriceOf("pro")}, &answer)
	require.Equal(t, plan.Premium, planOf(t, c.agrees(t, b, "after a downgrade").Subscriptions[0]))
	require.Equal(t, plan.Pro, planOf(t, passes("after a downgrade has taken effect").Subscriptions[0]))

	// a payment fails, and its retry succeeds
	require.NoError(t, b.FailNextPayment(has.Customer))
	has = passes("after a failed payment")
	require.Equal(t, "past_due", has.Subscriptions[0].Status)
	require.NoError(t, b.Advance(8*24*time.Hour))
	has = c.agrees(t, b, "after the retry of a payment")
	require.Equal(t, "active", has.Subscriptions[0].Status)

	// an invoice is refunded, and another one is disputed
	require.NoError(t, b.Refund(has.Invoices[0].ID, 0))
	c.agrees(t, b, "after a refund")
	_, err := b.Dispute(has.Invoices[1].ID)
	require.NoError(t, err)
	c.agrees(t, b, "after a dispute")

	// a cancellation that is withdrawn, and one that is not
	c.succeeds(t, "cancel", order{}, &answer)
	c.agrees(t, b, "after a cancellation")
	c.succeeds(t, "uncancel", order{}, &answer)
	has = passes("after a withdrawn cancellation")
	require.Equal(t, "active", has.Subscriptions[0].Status)
	for range 4 {
		passes("in the course of the year")
	}
	c.succeeds(t, "cancel", order{}, &answer)
	has = passes("at the end")
	require.Equal(t, "canceled", has.Subscriptions[0].Status)
	require.Equal(t, plan.Free, c.account(t).Plan.Type)

	// a new subscription follows
	b.pays(c.subscribe(t, "pro").ClientSecret, "pm_card_visa")
	require.Len(t, c.agrees(t, b, "after a new subscription").Subscriptions, 2)

	// and rebuilt read models show the same
	s.recitalctl("projections", "rebuild", "--all", "--promote")
	c.agrees(t, b, "after a rebuild")
	require.Equal(t, 200, do(t, c.request(http.MethodGet, "/v1/account/billing_history", nil)).status)
}
