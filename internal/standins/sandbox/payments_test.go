package sandbox_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/internal/standins/sandbox"
)

func (s *shop) intent(secret string) *stripe.PaymentIntent {
	id, _, _ := strings.Cut(secret, "_secret_")
	p, err := s.api.V1PaymentIntents.Retrieve(s.t.Context(), id, nil)
	require.NoError(s.t, err)
	return p
}

func TestTheNumberOfACardDeterminesItsBehaviour(t *testing.T) {
	for name, want := range map[string]struct {
		card    string
		decline stripe.DeclineCode
	}{
		"a Visa":                 {"4242 4242 4242 4242", ""},
		"a Mastercard":           {"pm_card_mastercard", ""},
		"declined":               {"4000000000000002", "generic_decline"},
		"declined after all":     {"4000000000000341", "generic_decline"},
		"without enough money":   {"pm_card_chargeDeclinedInsufficientFunds", "insufficient_funds"},
		"that has expired":       {"4000000000000069", "expired_card"},
		"with an unknown number": {"4000000000000001", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			sub := s.subscribe(s.customer().ID, sandbox.PriceOf("indie"))
			secret := sub.LatestInvoice.ConfirmationSecret.ClientSecret
			err := s.Confirm(secret, want.card)
			after := s.reload(sub.ID)
			if want.card == "4000000000000001" {
				require.ErrorContains(t, err, "incorrect")
				require.Zero(t, after.LatestInvoice.AttemptCount)
				return
			}
			if want.decline == "" {
				require.NoError(t, err)
				require.Equal(t, stripe.SubscriptionStatusActive, after.Status)
				return
			}
			require.Error(t, err)
			require.Equal(t, stripe.SubscriptionStatusIncomplete, after.Status)
			require.Equal(t, int64(1), after.LatestInvoice.AttemptCount)
			failed := s.intent(secret)
			require.Equal(t, stripe.PaymentIntentStatusRequiresPaymentMethod, failed.Status)
			require.Equal(t, want.decline, failed.LastPaymentError.DeclineCode)
			require.NoError(t, s.Confirm(secret, "pm_card_visa"), "another card may pay")
			require.Equal(t, stripe.SubscriptionStatusActive, s.reload(sub.ID).Status)
		})
	}
}

func TestACardMayAskItsOwnerForAConfirmation(t *testing.T) {
	s := open(t)
	sub := s.subscribe(s.customer().ID, sandbox.PriceOf("indie"))
	secret := sub.LatestInvoice.ConfirmationSecret.ClientSecret
	require.NoError(t, s.Confirm(secret, "4000002500003155"))
	require.Equal(t, stripe.PaymentIntentStatusRequiresAction, s.intent(secret).Status)
	require.Equal(t, stripe.SubscriptionStatusIncomplete, s.reload(sub.ID).Status)
	require.Error(t, s.Authenticate(secret, false))
	require.Equal(t, stripe.PaymentIntentStatusRequiresPaymentMethod, s.intent(secret).Status)

	require.NoError(t, s.Confirm(secret, "4000002500003155"))
	require.NoError(t, s.Authenticate(secret, true))
	require.Equal(t, stripe.SubscriptionStatusActive, s.reload(sub.ID).Status)
	s.over(s.reload(sub.ID))
	require.Equal(t, stripe.SubscriptionStatusActive, s.reload(sub.ID).Status, "it counts for later payments")
}

func TestACardThatAlwaysAsksCannotPayWithoutItsOwner(t *testing.T) {
	s := open(t)
	sub := s.subscribe(s.customer().ID, sandbox.PriceOf("indie"))
	secret := sub.LatestInvoice.ConfirmationSecret.ClientSecret
	require.NoError(t, s.Confirm(secret, "pm_card_authenticationRequired"))
	require.NoError(t, s.Authenticate(secret, true))
	s.over(s.reload(sub.ID))
	require.Equal(t, stripe.SubscriptionStatusPastDue, s.reload(sub.ID).Status)
	require.Contains(t, s.events(), "invoice.payment_action_required")
}

func (s *shop) setup(customer string) *stripe.SetupIntent {
	made, err := s.api.V1SetupIntents.Create(s.t.Context(), &stripe.SetupIntentCreateParams{
		Customer: &customer, Usage: stripe.String("off_session"), PaymentMethodTypes: stripe.StringSlice([]string{"card"}),
	})
	require.NoError(s.t, err)
	return made
}

func TestACardIsRegistered(t *testing.T) {
	s := open(t)
	c := s.customer()
	made := s.setup(c.ID)
	require.Error(t, s.Confirm(made.ClientSecret, "4000000000000002"))
	require.NoError(t, s.Confirm(made.ClientSecret, "5555555555554444"))
	done, err := s.api.V1SetupIntents.Retrieve(t.Context(), made.ID, nil)
	require.NoError(t, err)
	require.Equal(t, stripe.SetupIntentStatusSucceeded, done.Status)
	m, err := s.api.V1PaymentMethods.Retrieve(t.Context(), done.PaymentMethod.ID, nil)
	require.NoError(t, err)
	require.Equal(t, c.ID, m.Customer.ID)
	require.Equal(t, "4444", m.Card.Last4)
	require.Contains(t, s.events(), "setup_intent.setup_failed")
	require.Contains(t, s.events(), "setup_intent.succeeded")
}

func TestACardOfSomebodyElseIsRefused(t *testing.T) {
	s := open(t)
	mine, theirs := s.customer(), s.customer()
	card := s.attach("pm_card_visa", theirs.ID)
	_, err := s.api.V1PaymentMethods.Attach(t.Context(), card, &stripe.PaymentMethodAttachParams{Customer: &mine.ID})
	require.Error(t, err)
	_, err = s.api.V1Customers.Update(t.Context(), mine.ID, &stripe.CustomerUpdateParams{
		InvoiceSettings: &stripe.CustomerUpdateInvoiceSettingsParams{DefaultPaymentMethod: &card},
	})
	var refused *stripe.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, stripe.ErrorCodeResourceMissing, refused.Code)
	sub := s.subscribe(mine.ID, sandbox.PriceOf("indie"))
	require.Error(t, s.Confirm(sub.LatestInvoice.ConfirmationSecret.ClientSecret, card))
	require.Error(t, s.Confirm("pi_1_secret_guessed", "pm_card_visa"))
}

func (s *shop) chargeOf(customer string) *stripe.Charge {
	for c, err := range s.api.V1Charges.List(s.t.Context(), &stripe.ChargeListParams{Customer: &customer}) {
		require.NoError(s.t, err)
		return c
	}
	s.t.Fatal("there is no charge")
	return nil
}

func TestMoneyGoesBack(t *testing.T) {
	s := open(t)
	sub := s.active(sandbox.PriceOf("indie"), "pm_card_visa")
	require.NoError(t, s.Refund(sub.LatestInvoice.ID, 300))
	require.Equal(t, int64(300), s.chargeOf(sub.Customer.ID).AmountRefunded)
	require.Error(t, s.Refund(sub.LatestInvoice.ID, 701), "more than was paid")
	require.NoError(t, s.Refund(sub.LatestInvoice.ID, 0))
	require.True(t, s.chargeOf(sub.Customer.ID).Refunded)
	require.Error(t, s.Refund(sub.LatestInvoice.ID, 0), "all has gone back")
	require.Contains(t, s.events(), "charge.refunded")
}

func TestAPaymentIsDisputed(t *testing.T) {
	s := open(t)
	sub := s.active(sandbox.PriceOf("indie"), "pm_card_visa")
	id, err := s.Dispute(sub.LatestInvoice.ID)
	require.NoError(t, err)
	require.True(t, s.chargeOf(sub.Customer.ID).Disputed)
	require.NoError(t, s.CloseDispute(id, true))
	d, err := s.api.V1Disputes.Retrieve(t.Context(), id, nil)
	require.NoError(t, err)
	require.Equal(t, stripe.DisputeStatusWon, d.Status)
	require.Subset(t, s.events(), []string{"charge.dispute.created", "charge.dispute.closed"})
}

func TestItemsWaitForTheNextInvoice(t *testing.T) {
	s := open(t)
	sub := s.active(sandbox.PriceOf("indie"), "pm_card_visa")
	add := func(amount int64, to *string) (*stripe.InvoiceItem, error) {
		return s.api.V1InvoiceItems.Create(t.Context(), &stripe.InvoiceItemCreateParams{
			Customer: &sub.Customer.ID, Subscription: to, Amount: &amount, Currency: stripe.String("usd"),
			Description: stripe.String("Overage"), Metadata: map[string]string{"usage": "usage-1"},
		})
	}
	item, err := add(45, &sub.ID)
	require.NoError(t, err)
	require.Nil(t, item.Invoice)
	s.over(sub)
	renewed := s.reload(sub.ID)
	require.Equal(t, int64(1045), renewed.LatestInvoice.AmountPaid)
	for item, err := range s.api.V1InvoiceItems.List(t.Context(),
		&stripe.InvoiceItemListParams{Customer: &sub.Customer.ID}) {
		require.NoError(t, err)
		require.Equal(t, renewed.LatestInvoice.ID, item.Invoice.ID)
	}

	_, err = s.api.V1Subscriptions.Cancel(t.Context(), sub.ID, nil)
	require.NoError(t, err)
	_, err = add(5, &sub.ID)
	require.Error(t, err, "it has no next invoice")
	_, err = s.api.V1Customers.Update(t.Context(), sub.Customer.ID, &stripe.CustomerUpdateParams{
		InvoiceSettings: &stripe.CustomerUpdateInvoiceSettingsParams{DefaultPaymentMethod: &sub.DefaultPaymentMethod.ID},
	})
	require.NoError(t, err)
	_, err = add(500, nil)
	require.NoError(t, err)
	_, err = s.api.V1Invoices.Create(t.Context(), &stripe.InvoiceCreateParams{
		Customer: &sub.Customer.ID, Currency: stripe.String("usd"), AutoAdvance: stripe.Bool(true),
		CollectionMethod: stripe.String("charge_automatically"), PendingInvoiceItemsBehavior: stripe.String("include"),
	})
	require.NoError(t, err)
	require.NoError(t, s.Advance(2*time.Hour))
	newest := s.invoices(sub.Customer.ID)[0]
	require.Equal(t, stripe.InvoiceStatusPaid, newest.Status)
	require.Equal(t, int64(500), newest.AmountPaid)
}

func TestACouponCountsForItsMonths(t *testing.T) {
	s := open(t)
	c, price, coupon := s.customer(), sandbox.PriceOf("pro"), sandbox.WelcomeCoupon
	params := &stripe.SubscriptionCreateParams{
		Customer: &c.ID, Items: []*stripe.SubscriptionCreateItemParams{{Price: &price}},
		PaymentBehavior: stripe.String("default_incomplete"),
		PaymentSettings: &stripe.SubscriptionCreatePaymentSettingsParams{
			SaveDefaultPaymentMethod: stripe.String("on_subscription")},
		Discounts: []*stripe.SubscriptionCreateDiscountParams{{Coupon: &coupon}},
	}
	params.AddExpand("latest_invoice.confirmation_secret")
	params.AddExpand("discounts.source.coupon")
	sub, err := s.api.V1Subscriptions.Create(t.Context(), params)
	require.NoError(t, err)
	require.InDelta(t, 20, sub.Discounts[0].Source.Coupon.PercentOff, 0)
	require.Equal(t, int64(3920), sub.LatestInvoice.AmountDue)
	require.NoError(t, s.Confirm(sub.LatestInvoice.ConfirmationSecret.ClientSecret, "pm_card_visa"))
	var paid []int64
	for range 4 {
		sub = s.reload(sub.ID)
		paid = append(paid, sub.LatestInvoice.AmountPaid)
		s.over(sub)
	}
	require.Equal(t, []int64{3920, 3920, 3920, 4900}, paid)
}
