package sandbox_test

import (
	"math"
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

// half advances the clock to the middle of a subscription's period.
func (s *shop) half(sub *stripe.Subscription) {
	begin, end := itemOf(sub).CurrentPeriodStart, itemOf(sub).CurrentPeriodEnd
	require.NoError(s.t, s.Advance(time.Unix((begin+end)/2, 0).Sub(s.Now())))
}

// over advances the clock to the end of a subscription's period, after its next invoice was attempted.
func (s *shop) over(sub *stripe.Subscription) {
	require.NoError(s.t, s.Advance(time.Unix(itemOf(sub).CurrentPeriodEnd, 0).Add(61*time.Minute).Sub(s.Now())))
}

func TestAnUpgradeChargesTheRestOfThePeriodToTheSecond(t *testing.T) {
	s := open(t)
	sub := s.active(sandbox.PriceOf("indie"), "pm_card_visa")
	s.half(sub)
	changed, err := s.change(sub, sandbox.PriceOf("pro"))
	require.NoError(t, err)
	require.Equal(t, sandbox.PriceOf("pro"), itemOf(changed).Price.ID)
	require.Equal(t, itemOf(sub).CurrentPeriodEnd, itemOf(changed).CurrentPeriodEnd)

	newest := s.invoices(sub.Customer.ID)[0]
	require.Equal(t, stripe.InvoiceBillingReasonSubscriptionUpdate, newest.BillingReason)
	require.Len(t, newest.Lines.Data, 2)
	period := itemOf(sub).CurrentPeriodEnd - itemOf(sub).CurrentPeriodStart
	rest := float64(itemOf(sub).CurrentPeriodEnd-newest.Lines.Data[1].Period.Start) / float64(period)
	credit, debit := -int64(math.Round(1000*rest)), int64(math.Round(4900*rest))
	amounts := []int64{newest.Lines.Data[0].Amount, newest.Lines.Data[1].Amount}
	require.ElementsMatch(t, []int64{credit, debit}, amounts)
	require.Equal(t, credit+debit, newest.AmountPaid)
	require.InDelta(t, 1950, newest.AmountPaid, 20)
}

func TestAnUpgradeThatCannotBePaidChangesNothing(t *testing.T) {
	s := open(t)
	sub := s.active(sandbox.PriceOf("indie"), "pm_card_visa")
	require.NoError(t, s.FailNextPayment(sub.Customer.ID))
	before := s.events()
	_, err := s.change(sub, sandbox.PriceOf("pro"))
	var refused *stripe.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, 402, refused.HTTPStatusCode)
	require.Equal(t, stripe.ErrorTypeCard, refused.Type)
	require.Equal(t, stripe.ErrorCodeCardDeclined, refused.Code)
	require.Equal(t, sandbox.PriceOf("indie"), itemOf(s.reload(sub.ID)).Price.ID)
	require.Len(t, s.invoices(sub.Customer.ID), 1)
	require.Equal(t, before, s.events())

	_, err = s.change(sub, sandbox.PriceOf("pro"))
	require.NoError(t, err, "only one payment was to fail")
}

// changePending changes the price when the payment succeeds, after confirmation by its owner if necessary, as Recital
// does.
func (s *shop) changePending(sub *stripe.Subscription, price string) *stripe.Subscription {
	changed, err := s.api.V1Subscriptions.Update(s.t.Context(), sub.ID, &stripe.SubscriptionUpdateParams{
		Items:             []*stripe.SubscriptionUpdateItemParams{{ID: &itemOf(sub).ID, Price: &price}},
		ProrationBehavior: stripe.String("always_invoice"), PaymentBehavior: stripe.String("pending_if_incomplete"),
	})
	require.NoError(s.t, err)
	return changed
}

// asking returns a subscription with a card that needs its owner's confirmation for each payment.
func (s *shop) asking(price string) *stripe.Subscription {
	sub := s.active(price, "pm_card_authenticationRequired")
	require.NoError(s.t, s.Authenticate(s.secretOf(sub.LatestInvoice.ID), true))
	return s.reload(sub.ID)
}

// secretOf returns the client secret of an invoice's payment intent, even after it is paid.
func (s *shop) secretOf(invoice string) string {
	i, err := s.api.V1Invoices.Retrieve(s.t.Context(), invoice,
		&stripe.InvoiceRetrieveParams{Expand: stripe.StringSlice([]string{"payments.data.payment.payment_intent"})})
	require.NoError(s.t, err)
	return i.Payments.Data[0].Payment.PaymentIntent.ClientSecret
}

func TestAnUpgradeThatIsToBeConfirmedIsPending(t *testing.T) {
	s := open(t)
	sub := s.asking(sandbox.PriceOf("indie"))
	_, err := s.change(sub, sandbox.PriceOf("pro"))
	var refused *stripe.Error
	require.ErrorAs(t, err, &refused)
	require.EqualValues(t, "subscription_payment_intent_requires_action", refused.Code)
	require.Nil(t, s.reload(sub.ID).PendingUpdate)

	// no change before the confirmation
	pending := s.changePending(sub, sandbox.PriceOf("pro"))
	require.Equal(t, sandbox.PriceOf("indie"), itemOf(pending).Price.ID)
	require.Equal(t, stripe.SubscriptionStatusActive, pending.Status)
	require.Equal(t, sandbox.PriceOf("pro"), pending.PendingUpdate.SubscriptionItems[0].Price.ID)
	require.InDelta(t, s.Now().Add(23*time.Hour).Unix(), pending.PendingUpdate.ExpiresAt, 60)

	// another change replaces it
	again := s.changePending(sub, sandbox.PriceOf("premium"))
	require.Equal(t, sandbox.PriceOf("premium"), again.PendingUpdate.SubscriptionItems[0].Price.ID)
	require.ErrorContains(t, s.Authenticate(s.secretOf(pending.LatestInvoice.ID), true), "does not wait")

	// after a refusal it can still be confirmed, and is then made
	secret := s.secretOf(again.LatestInvoice.ID)
	require.Error(t, s.Authenticate(secret, false))
	require.NotNil(t, s.reload(sub.ID).PendingUpdate)
	require.Equal(t, stripe.SubscriptionStatusActive, s.reload(sub.ID).Status)
	require.NoError(t, s.Confirm(secret, "pm_card_visa"))
	made := s.reload(sub.ID)
	require.Nil(t, made.PendingUpdate)
	require.Equal(t, sandbox.PriceOf("premium"), itemOf(made).Price.ID)
	require.Equal(t, secret, s.secretOf(made.LatestInvoice.ID))
	s.over(sub)
	require.Equal(t, sandbox.PriceOf("premium"), itemOf(s.reload(sub.ID)).Price.ID)
}

func TestAPendingUpgradeLapses(t *testing.T) {
	for name, end := range map[string]func(s *shop, pending *stripe.Subscription){
		"after 23 hours": func(s *shop, _ *stripe.Subscription) { require.NoError(s.t, s.Advance(23*time.Hour)) },
		"with its invoice": func(s *shop, pending *stripe.Subscription) {
			_, err := s.api.V1Invoices.VoidInvoice(s.t.Context(), pending.LatestInvoice.ID, nil)
			require.NoError(s.t, err)
		},
		"with the phase of a schedule": func(s *shop, pending *stripe.Subscription) {
			made := s.schedule(pending, sandbox.PriceOf("indie"))
			require.NoError(s.t, s.Advance(time.Unix(made.Phases[1].StartDate, 0).Sub(s.Now())))
		},
	} {
		s := open(t)
		sub := s.asking(sandbox.PriceOf("indie"))
		pending := s.changePending(sub, sandbox.PriceOf("pro"))
		end(s, pending)
		after := s.reload(sub.ID)
		require.Nil(t, after.PendingUpdate, name)
		require.Equal(t, sandbox.PriceOf("indie"), itemOf(after).Price.ID, name)
		lapsed, err := s.api.V1Invoices.Retrieve(t.Context(), pending.LatestInvoice.ID, nil)
		require.NoError(t, err)
		require.Equal(t, stripe.InvoiceStatusVoid, lapsed.Status, name)
	}
}

// schedule changes the price of a subscription at the end of its period, as Recital does.
func (s *shop) schedule(sub *stripe.Subscription, price string) *stripe.SubscriptionSchedule {
	ctx := s.t.Context()
	made, err := s.api.V1SubscriptionSchedules.Create(ctx,
		&stripe.SubscriptionScheduleCreateParams{FromSubscription: &sub.ID})
	require.NoError(s.t, err)
	one, current := stripe.Int64(1), made.Phases[0]
	made, err = s.api.V1SubscriptionSchedules.Update(ctx, made.ID, &stripe.SubscriptionScheduleUpdateParams{
		EndBehavior: stripe.String("release"), ProrationBehavior: stripe.String("none"),
		Phases: []*stripe.SubscriptionScheduleUpdatePhaseParams{
			{
				StartDate: &current.StartDate, EndDate: &current.EndDate,
				Items: []*stripe.SubscriptionScheduleUpdatePhaseItemParams{{Price: &current.Items[0].Price.ID, Quantity: one}},
			},
			{
				Duration: &stripe.SubscriptionScheduleUpdatePhaseDurationParams{
					Interval: stripe.String("month"), IntervalCount: one,
				},
				Items: []*stripe.SubscriptionScheduleUpdatePhaseItemParams{{Price: &price, Quantity: one}},
			},
		},
	})
	require.NoError(s.t, err)
	return made
}

func TestAScheduledChangeComesWithTheNextPeriod(t *testing.T) {
	s := open(t)
	sub := s.active(sandbox.PriceOf("pro"), "pm_card_visa")
	made := s.schedule(sub, sandbox.PriceOf("indie"))
	require.Len(t, made.Phases, 2)
	require.Equal(t, itemOf(sub).CurrentPeriodEnd, made.Phases[1].StartDate)
	require.Equal(t, made.ID, s.reload(sub.ID).Schedule.ID)
	require.Equal(t, sandbox.PriceOf("pro"), itemOf(s.reload(sub.ID)).Price.ID)

	s.over(sub)
	renewed := s.reload(sub.ID)
	require.Equal(t, sandbox.PriceOf("indie"), itemOf(renewed).Price.ID)
	require.Equal(t, int64(1000), renewed.LatestInvoice.AmountPaid, "there is nothing to prorate")

	s.over(renewed)
	released := s.reload(sub.ID)
	require.Nil(t, released.Schedule, "the schedule has ended")
	require.Equal(t, stripe.SubscriptionStatusActive, released.Status)
	require.Equal(t, sandbox.PriceOf("indie"), itemOf(released).Price.ID)
}

func TestAScheduledChangeCanBeReleased(t *testing.T) {
	s := open(t)
	sub := s.active(sandbox.PriceOf("pro"), "pm_card_visa")
	made := s.schedule(sub, sandbox.PriceOf("indie"))
	_, err := s.api.V1Subscriptions.Update(t.Context(), sub.ID,
		&stripe.SubscriptionUpdateParams{CancelAtPeriodEnd: stripe.Bool(true)})
	require.ErrorContains(t, err, made.ID, "the schedule manages the end")

	gone, err := s.api.V1SubscriptionSchedules.Release(t.Context(), made.ID, nil)
	require.NoError(t, err)
	require.Equal(t, stripe.SubscriptionScheduleStatusReleased, gone.Status)
	_, err = s.api.V1SubscriptionSchedules.Release(t.Context(), made.ID, nil)
	require.ErrorContains(t, err, "released")
	s.over(sub)
	require.Equal(t, sandbox.PriceOf("pro"), itemOf(s.reload(sub.ID)).Price.ID)
}

func TestACancelledSubscriptionEndsWithItsPeriodUnlessItIsTakenBack(t *testing.T) {
	s := open(t)
	sub := s.active(sandbox.PriceOf("indie"), "pm_card_visa")
	cancel := func(yes bool) *stripe.Subscription {
		changed, err := s.api.V1Subscriptions.Update(t.Context(), sub.ID,
			&stripe.SubscriptionUpdateParams{CancelAtPeriodEnd: &yes})
		require.NoError(t, err)
		return changed
	}
	require.Equal(t, itemOf(sub).CurrentPeriodEnd, cancel(true).CancelAt)
	require.Zero(t, cancel(false).CancelAt)
	s.over(sub)
	renewed := s.reload(sub.ID)
	require.Equal(t, stripe.SubscriptionStatusActive, renewed.Status)

	cancel(true)
	s.over(renewed)
	ended := s.reload(sub.ID)
	require.Equal(t, stripe.SubscriptionStatusCanceled, ended.Status)
	require.Equal(t, itemOf(renewed).CurrentPeriodEnd, ended.EndedAt)
	require.Len(t, s.invoices(sub.Customer.ID), 2)
	require.Contains(t, s.events(), "customer.subscription.deleted")
}

func TestAnIncompleteSubscriptionExpires(t *testing.T) {
	s := open(t)
	sub := s.subscribe(s.customer().ID, sandbox.PriceOf("indie"))
	require.NoError(t, s.Advance(22*time.Hour))
	require.Equal(t, stripe.SubscriptionStatusIncomplete, s.reload(sub.ID).Status)
	require.NoError(t, s.Advance(2*time.Hour))
	expired := s.reload(sub.ID)
	require.Equal(t, stripe.SubscriptionStatusIncompleteExpired, expired.Status)
	require.Equal(t, stripe.InvoiceStatusVoid, expired.LatestInvoice.Status)
	require.Error(t, s.Confirm(sub.LatestInvoice.ConfirmationSecret.ClientSecret, "pm_card_visa"))
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

func TestASubscriptionRecoversOnceACardPays(t *testing.T) {
	s := open(t)
	sub := s.active(sandbox.PriceOf("indie"), "pm_card_visa")
	require.NoError(t, s.FailNextPayment(sub.Customer.ID))
	s.over(sub)
	require.Equal(t, stripe.SubscriptionStatusPastDue, s.reload(sub.ID).Status)
	require.NoError(t, s.Advance(3*24*time.Hour))
	back := s.reload(sub.ID)
	require.Equal(t, stripe.SubscriptionStatusActive, back.Status)
	require.Equal(t, int64(2), back.LatestInvoice.AttemptCount)
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
