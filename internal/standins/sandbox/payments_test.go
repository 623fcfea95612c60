package sandbox_test

import (
	"strings"
	"testing"

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
	for card, later := range map[string]stripe.SubscriptionStatus{
		"4000002500003155":               stripe.SubscriptionStatusActive, // the confirmation counts for later payments
		"pm_card_authenticationRequired": stripe.SubscriptionStatusPastDue,
	} {
		s := open(t)
		sub := s.subscribe(s.customer().ID, sandbox.PriceOf("indie"))
		secret := sub.LatestInvoice.ConfirmationSecret.ClientSecret
		require.NoError(t, s.Confirm(secret, card))
		require.Equal(t, stripe.PaymentIntentStatusRequiresAction, s.intent(secret).Status, card)
		require.NoError(t, s.Authenticate(secret, true))
		require.Equal(t, stripe.SubscriptionStatusActive, s.reload(sub.ID).Status, card)
		s.over(s.reload(sub.ID))
		require.Equal(t, later, s.reload(sub.ID).Status, card)
	}
}

func (s *shop) setup(customer string) *stripe.SetupIntent {
	made, err := s.api.V1SetupIntents.Create(s.t.Context(), &stripe.SetupIntentCreateParams{
		Customer: &customer, Usage: stripe.String("off_session"), PaymentMethodTypes: stripe.StringSlice([]string{"card"}),
	})
	require.NoError(s.t, err)
	return made
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
