package stripe

import (
	"context"
	"time"

	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/internal/providers/payments"
)

// Subscribe implements payments.Gateway. The card that pays first pays later, too.
func (g *Gateway) Subscribe(ctx context.Context, a payments.Attempt, s payments.NewSubscription) (payments.Subscription, error) {
	var id string
	err := g.once(ctx, a, change{
		step: "subscription",
		made: func() (made bool, err error) {
			all, err := g.subscriptions(ctx, s.Customer)
			for _, other := range all {
				if other.Metadata[metaAttempt] == a.ID {
					id = other.ID
				}
			}
			return id != "", err
		},
		make: func(key string) error {
			made, err := g.api.V1Subscriptions.Create(ctx, newSubscription(a, s, key))
			if err == nil {
				id = made.ID
			}
			return err
		},
	})
	if err != nil {
		return payments.Subscription{}, err
	}
	return g.shown(ctx, id)
}

func newSubscription(a payments.Attempt, s payments.NewSubscription, key string) *stripe.SubscriptionCreateParams {
	params := &stripe.SubscriptionCreateParams{
		Customer:        &s.Customer,
		Items:           []*stripe.SubscriptionCreateItemParams{{Price: &s.Price}},
		PaymentBehavior: stripe.String("default_incomplete"),
		PaymentSettings: &stripe.SubscriptionCreatePaymentSettingsParams{
			PaymentMethodTypes: stripe.StringSlice([]string{"card"}), SaveDefaultPaymentMethod: stripe.String("on_subscription"),
		},
		Metadata: map[string]string{metaAttempt: a.ID},
	}
	if s.Coupon != "" {
		params.Discounts = []*stripe.SubscriptionCreateDiscountParams{{Coupon: &s.Coupon}}
	}
	params.IdempotencyKey = &key
	return params
}

// FirstPayment implements payments.Gateway. There is no client secret once there is nothing to pay.
func (g *Gateway) FirstPayment(ctx context.Context, subscription string) (payments.FirstPayment, error) {
	var s *stripe.Subscription
	err := g.ask(ctx, func() (err error) {
		params := &stripe.SubscriptionRetrieveParams{Expand: stripe.StringSlice([]string{"latest_invoice.confirmation_secret", "discounts.source.coupon"})}
		s, err = g.api.V1Subscriptions.Retrieve(ctx, subscription, params)
		return err
	})
	if err != nil {
		return payments.FirstPayment{}, err
	}
	var pay payments.FirstPayment
	if invoice := s.LatestInvoice; invoice != nil {
		pay.Amount, pay.Currency = invoice.AmountDue, string(invoice.Currency)
		if invoice.ConfirmationSecret != nil && s.Status == stripe.SubscriptionStatusIncomplete {
			pay.ClientSecret = invoice.ConfirmationSecret.ClientSecret
		}
	}
	for _, d := range s.Discounts {
		if d.Source != nil && d.Source.Coupon != nil {
			shown := discount(d.Source.Coupon)
			pay.Discount = &shown
		}
	}
	return pay, nil
}

// ChangePrice implements payments.Gateway.
func (g *Gateway) ChangePrice(ctx context.Context, a payments.Attempt, subscription, price string) (payments.Subscription, error) {
	if _, err := g.DropScheduledChange(ctx, a, subscription); err != nil {
		return payments.Subscription{}, err
	}
	var s *stripe.Subscription
	err := g.once(ctx, a, change{
		step: "price", look: true,
		made: func() (_ bool, err error) {
			s, err = g.subscription(ctx, subscription)
			return err == nil && priceOf(s) == price && !hasEnded(s), err
		},
		make: func(key string) error {
			params := &stripe.SubscriptionUpdateParams{
				Items:             []*stripe.SubscriptionUpdateItemParams{{ID: &itemOf(s).ID, Price: &price}},
				ProrationBehavior: stripe.String("always_invoice"), PaymentBehavior: stripe.String("error_if_incomplete"),
				Metadata: map[string]string{metaChange: a.ID},
			}
			params.IdempotencyKey = &key
			_, err := g.api.V1Subscriptions.Update(ctx, subscription, params)
			return err
		},
	})
	if err != nil {
		return payments.Subscription{}, err
	}
	return g.shown(ctx, subscription)
}

// SetCancelAtPeriodEnd implements payments.Gateway.
func (g *Gateway) SetCancelAtPeriodEnd(ctx context.Context, a payments.Attempt, subscription string, cancel bool) (payments.Subscription, error) {
	if _, err := g.DropScheduledChange(ctx, a, subscription); err != nil {
		return payments.Subscription{}, err
	}
	var s *stripe.Subscription
	err := g.once(ctx, a, change{
		step: "cancel", look: true,
		made: func() (_ bool, err error) {
			s, err = g.subscription(ctx, subscription)
			return err == nil && endsWithPeriod(s) == cancel && !hasEnded(s), err
		},
		make: func(key string) error {
			params := &stripe.SubscriptionUpdateParams{CancelAtPeriodEnd: &cancel, Metadata: map[string]string{metaChange: a.ID}}
			if !s.CancelAtPeriodEnd && s.CancelAt != 0 {
				params.CancelAtPeriodEnd = nil // it was set as a time
				params.AddExtra("cancel_at", "")
			}
			params.IdempotencyKey = &key
			_, err := g.api.V1Subscriptions.Update(ctx, subscription, params)
			return err
		},
	})
	if err != nil {
		return payments.Subscription{}, err
	}
	return g.shown(ctx, subscription)
}

// End implements payments.Gateway.
func (g *Gateway) End(ctx context.Context, a payments.Attempt, subscription string) error {
	return g.once(ctx, a, change{
		step: "end", look: true,
		made: func() (bool, error) {
			s, err := g.subscription(ctx, subscription)
			return err == nil && hasEnded(s), err
		},
		make: func(key string) error {
			params := &stripe.SubscriptionCancelParams{}
			params.IdempotencyKey = &key
			_, err := g.api.V1Subscriptions.Cancel(ctx, subscription, params)
			return err
		},
	})
}

// subscription returns a subscription with all that is shown of it.
func (g *Gateway) subscription(ctx context.Context, id string) (s *stripe.Subscription, err error) {
	err = g.ask(ctx, func() (err error) {
		params := &stripe.SubscriptionRetrieveParams{Expand: stripe.StringSlice([]string{"default_payment_method", "schedule"})}
		s, err = g.api.V1Subscriptions.Retrieve(ctx, id, params)
		return err
	})
	return s, err
}

// mostSubscriptions is how many of a customer are read: the newest.
const mostSubscriptions = 20

// subscriptions returns those of a customer, the newest first.
func (g *Gateway) subscriptions(ctx context.Context, customer string) ([]*stripe.Subscription, error) {
	params := &stripe.SubscriptionListParams{
		Customer: &customer, Status: stripe.String("all"), Expand: stripe.StringSlice([]string{"data.default_payment_method", "data.schedule"}),
	}
	params.Limit = stripe.Int64(mostSubscriptions)
	return list(ctx, g, g.api.V1Subscriptions.List(ctx, params), func(s *stripe.Subscription) (*stripe.Subscription, bool) { return s, true },
		func(taken []*stripe.Subscription, _ *stripe.Subscription) bool {
			return len(taken) == mostSubscriptions
		})
}

func (g *Gateway) shown(ctx context.Context, id string) (payments.Subscription, error) {
	s, err := g.subscription(ctx, id)
	if err != nil {
		return payments.Subscription{}, err
	}
	return show(s), nil
}

func show(s *stripe.Subscription) payments.Subscription {
	item := itemOf(s)
	return payments.Subscription{
		ID: s.ID, Status: string(s.Status), Price: priceOf(s), Attempt: s.Metadata[metaAttempt],
		PeriodStart: at(item.CurrentPeriodStart), PeriodEnd: at(item.CurrentPeriodEnd), Anchor: at(s.BillingCycleAnchor),
		CancelAtPeriodEnd: endsWithPeriod(s), CreatedAt: at(s.Created), EndedAt: at(s.EndedAt), Scheduled: scheduled(s),
	}
}

// itemOf returns the only item that we give to a subscription.
func itemOf(s *stripe.Subscription) *stripe.SubscriptionItem {
	if s.Items == nil || len(s.Items.Data) == 0 {
		return &stripe.SubscriptionItem{}
	}
	return s.Items.Data[0]
}

func priceOf(s *stripe.Subscription) string {
	if item := itemOf(s); item.Price != nil {
		return item.Price.ID
	}
	return ""
}

// endsWithPeriod reports whether a subscription ends with its period. The provider says it as a flag, or as a time that
// somebody has set.
func endsWithPeriod(s *stripe.Subscription) bool {
	return !hasEnded(s) && (s.CancelAtPeriodEnd || s.CancelAt != 0 && s.CancelAt <= itemOf(s).CurrentPeriodEnd)
}

func hasEnded(s *stripe.Subscription) bool {
	return s.Status == stripe.SubscriptionStatusCanceled || s.Status == stripe.SubscriptionStatusIncompleteExpired
}

// at returns the time of a Unix time, where 0 is none.
func at(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}
