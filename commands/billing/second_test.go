package billing_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	api "github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/commands/billing"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/domain/plan"
)

// subscribedByHand creates a subscription manually at the provider, which the card of the first one pays.
func (s *world) subscribedByHand(account, price string) (id string) {
	s.T.Helper()
	made, err := s.api.V1Subscriptions.Create(s.T.Context(), &api.SubscriptionCreateParams{
		Customer:        new(s.state(account).Customer),
		Items:           []*api.SubscriptionCreateItemParams{{Price: &price}},
		PaymentBehavior: new("default_incomplete"),
		Expand:          []*string{new("latest_invoice.confirmation_secret")},
	})
	require.NoError(s.T, err)
	require.NoError(s.T, s.sandbox.Confirm(made.LatestInvoice.ConfirmationSecret.ClientSecret, "pm_card_visa"))
	return made.ID
}

func TestASecondSubscriptionIsAnAlert(t *testing.T) {
	s := newWorld(t)
	account := s.subscribed(indie)
	first, _ := s.state(account).Current()
	require.Empty(t, s.alerts(alert.Doubled))
	s.advance(time.Minute)
	second := s.subscribedByHand(account, pro)

	// while the alert cannot be raised, it is not recorded, so that it is found again
	s.deaf = true
	_, err := s.Refresh(t.Context(), account)
	require.ErrorIs(t, err, errDeaf)
	s.deaf = false
	for range 2 {
		s.Must(s.Refresh(t.Context(), account))
	}
	require.Len(t, s.alerts(alert.Doubled), 1, "once")
	require.Equal(t, first.Subscription+billing.Beside+second, s.alerts(alert.Doubled)[0].Subject)
	require.Equal(t, plan.Pro, s.state(account).Entitled.Plan, "the newest counts")
	require.Equal(t, []string{first.Subscription}, s.state(account).Others())

	// a cancellation names the subscription that it ends, and keeps the other one
	cancelled, err := s.Cancel(t.Context(), account, none, origin)
	require.NoError(t, err)
	require.Equal(t, second, cancelled.Subscription)
	s.Must(s.api.V1Subscriptions.Cancel(t.Context(), second, nil))
	s.Must(s.Refresh(t.Context(), account))
	require.Empty(t, s.state(account).Others())
	require.Equal(t, plan.Indie, s.state(account).Entitled.Plan)
	cancelled, err = s.Cancel(t.Context(), account, none, origin)
	require.NoError(t, err)
	require.Equal(t, first.Subscription, cancelled.Subscription)

	// a third one is another alert
	s.advance(time.Minute)
	third := s.subscribedByHand(account, pro)
	s.Must(s.Refresh(t.Context(), account))
	require.Len(t, s.alerts(alert.Doubled), 2)
	require.Contains(t, s.alerts(alert.Doubled)[1].Subject, third)
}
