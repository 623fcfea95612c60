package sandbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/internal/standins/sandbox"
)

func itemOf(sub *stripe.Subscription) *stripe.SubscriptionItem { return sub.Items.Data[0] }

// change changes the price immediately, as Recital does.
func (s *shop) change(sub *stripe.Subscription, price string) (*stripe.Subscription, error) {
	return s.api.V1Subscriptions.Update(s.t.Context(), sub.ID, &stripe.SubscriptionUpdateParams{
		Items:             []*stripe.SubscriptionUpdateItemParams{{ID: &itemOf(sub).ID, Price: &price}},
		ProrationBehavior: stripe.String("always_invoice"), PaymentBehavior: stripe.String("error_if_incomplete"),
	})
}

// over advances the clock to the end of a subscription's period, after its next invoice was attempted.
func (s *shop) over(sub *stripe.Subscription) {
	require.NoError(s.t, s.Advance(time.Unix(itemOf(sub).CurrentPeriodEnd, 0).Add(61*time.Minute).Sub(s.Now())))
}

func TestAScheduleManagesTheEndOfItsSubscription(t *testing.T) {
	s := open(t)
	sub := s.active(sandbox.PriceOf("pro"), "pm_card_visa")
	made, err := s.api.V1SubscriptionSchedules.Create(t.Context(),
		&stripe.SubscriptionScheduleCreateParams{FromSubscription: &sub.ID})
	require.NoError(t, err)
	_, err = s.api.V1Subscriptions.Update(t.Context(), sub.ID,
		&stripe.SubscriptionUpdateParams{CancelAtPeriodEnd: stripe.Bool(true)})
	require.ErrorContains(t, err, made.ID)
	_, err = s.api.V1SubscriptionSchedules.Release(t.Context(), made.ID, nil)
	require.NoError(t, err)
	_, err = s.api.V1SubscriptionSchedules.Release(t.Context(), made.ID, nil)
	require.ErrorContains(t, err, "released")
}

func TestADeclinedCardIsRetriedAndThenTheSubscriptionEnds(t *testing.T) {
	s := open(t)
	sub := s.active(sandbox.PriceOf("indie"), "pm_card_visa")
	bad := s.attach("pm_card_chargeCustomerFail", sub.Customer.ID)
	_, err := s.api.V1Subscriptions.Update(t.Context(), sub.ID,
		&stripe.SubscriptionUpdateParams{DefaultPaymentMethod: &bad})
	require.NoError(t, err)
	s.over(sub)
	due := s.reload(sub.ID)
	require.Equal(t, stripe.SubscriptionStatusPastDue, due.Status)
	require.Equal(t, int64(1), due.LatestInvoice.AttemptCount)
	require.NotZero(t, due.LatestInvoice.NextPaymentAttempt)

	require.NoError(t, s.Advance(14*24*time.Hour))
	due = s.reload(sub.ID)
	require.Equal(t, stripe.SubscriptionStatusPastDue, due.Status)
	require.Equal(t, int64(3), due.LatestInvoice.AttemptCount)
	require.NoError(t, s.Advance(2*24*time.Hour))
	ended := s.reload(sub.ID)
	require.Equal(t, stripe.SubscriptionStatusCanceled, ended.Status)
	require.Equal(t, stripe.InvoiceStatusOpen, ended.LatestInvoice.Status)
	require.Zero(t, ended.LatestInvoice.NextPaymentAttempt)
	require.Equal(t, stripe.SubscriptionCancellationDetailsReasonPaymentFailed, ended.CancellationDetails.Reason)
}

// attach attaches a test card to a customer.
func (s *shop) attach(card, customer string) string {
	m, err := s.api.V1PaymentMethods.Attach(s.t.Context(), card, &stripe.PaymentMethodAttachParams{Customer: &customer})
	require.NoError(s.t, err)
	return m.ID
}

func TestMonthsCountFromTheAnchor(t *testing.T) {
	s := open(t)
	// Go to the 31st of a month before a shorter one.
	for now := s.Now(); now.Day() != 31 || now.AddDate(0, 0, 1).Month() == time.August; now = s.Now() {
		require.NoError(t, s.Advance(24*time.Hour))
	}
	sub := s.active(sandbox.PriceOf("indie"), "pm_card_visa")
	anchor := time.Unix(sub.BillingCycleAnchor, 0).UTC()
	for range 12 {
		begin, end := time.Unix(itemOf(sub).CurrentPeriodStart, 0).UTC(), time.Unix(itemOf(sub).CurrentPeriodEnd, 0).UTC()
		require.Equal(t, begin.Month()%12+1, end.Month(), "one month after another")
		last := end.AddDate(0, 0, 1).Month() != end.Month()
		require.True(t, end.Day() == anchor.Day() || last && end.Day() < anchor.Day(), "%s", end)
		s.over(sub)
		sub = s.reload(sub.ID)
	}
}
