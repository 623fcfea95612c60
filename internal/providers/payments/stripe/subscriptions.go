package stripe

import (
	"context"
	"slices"
	"time"

	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/internal/providers/payments"
)

// Subscribe implements payments.Gateway. The card of the first payment also pays later ones.
func (g *Gateway) Subscribe(
	ctx context.Context, a payments.Attempt, s payments.NewSubscription,
) (payments.Subscription, error) {
	made, err := once(ctx, g, a, change[stripe.Subscription]{
		step: "subscription",
		read: func() (*stripe.Subscription, error) {
			newest, err := g.subscriptions(ctx, s.Customer)
			i := slices.IndexFunc(newest, func(s *stripe.Subscription) bool { return s.Metadata[metaAttempt] == a.ID })
			if err != nil || i < 0 {
				return nil, err
			}
			return newest[i], nil
		},
		make: func(params stripe.Params, _ *stripe.Subscription) (*stripe.Subscription, error) {
			return g.api.V1Subscriptions.Create(ctx, newSubscription(a, s, params))
		},
	})
	if err != nil {
		return payments.Subscription{}, err
	}
	if i := made.LatestInvoice; i != nil && i.Object != "" && !isReplayed(made.LastResponse) {
		remember(ctx, firstPaymentOf(made.ID), made)
	}
	return g.shown(ctx, made.ID)
}

// firstPaymentOf returns the cache key of the first payment of a subscription.
func firstPaymentOf(subscription string) string { return "first payment of " + subscription }

// shownOfFirstPayment returns the fields to expand for the first payment of a subscription.
func shownOfFirstPayment() []string {
	return []string{"latest_invoice.confirmation_secret", "discounts.source.coupon"}
}

func newSubscription(
	a payments.Attempt, s payments.NewSubscription, params stripe.Params,
) *stripe.SubscriptionCreateParams {
	create := &stripe.SubscriptionCreateParams{
		Params:          params,
		Customer:        &s.Customer,
		Items:           []*stripe.SubscriptionCreateItemParams{{Price: &s.Price}},
		PaymentBehavior: stripe.String("default_incomplete"),
		PaymentSettings: &stripe.SubscriptionCreatePaymentSettingsParams{
			PaymentMethodTypes: stripe.StringSlice([]string{"card"}), SaveDefaultPaymentMethod: stripe.String("on_subscription"),
		},
		Metadata: map[string]string{metaAttempt: a.ID},
		Expand:   stripe.StringSlice(append(shownOfSubscription(), shownOfFirstPayment()...)),
	}
	if s.Coupon != "" {
		create.Discounts = []*stripe.SubscriptionCreateDiscountParams{{Coupon: &s.Coupon}}
	}
	return create
}

// FirstPayment implements payments.Gateway. There is no client secret after the payment.
func (g *Gateway) FirstPayment(ctx context.Context, subscription string) (payments.FirstPayment, error) {
	s := recall[stripe.Subscription](ctx, firstPaymentOf(subscription))
	if s == nil {
		var err error
		if s, err = g.retrieveSubscription(ctx, subscription, shownOfFirstPayment()...); err != nil {
			return payments.FirstPayment{}, err
		}
	}
	var pay payments.FirstPayment
	if invoice := s.LatestInvoice; invoice != nil {
		pay.Invoice, pay.Amount, pay.Currency = invoice.ID, invoice.AmountDue, string(invoice.Currency)
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

// SetCancelAtPeriodEnd implements payments.Gateway.
func (g *Gateway) SetCancelAtPeriodEnd(
	ctx context.Context, a payments.Attempt, subscription string, cancel bool,
) (payments.Subscription, error) {
	if err := g.change(ctx, a, subscription, g.release(ctx)); err != nil {
		return payments.Subscription{}, err
	}
	return g.changed(ctx, a, subscription, change[stripe.Subscription]{
		step: "cancel",
		made: func(s *stripe.Subscription) bool { return endsWithPeriod(s) == cancel && !hasEnded(s) },
		make: func(params stripe.Params, now *stripe.Subscription) (*stripe.Subscription, error) {
			update := &stripe.SubscriptionUpdateParams{
				Params: params, Metadata: map[string]string{metaChange: a.ID},
				Expand: stripe.StringSlice(shownOfSubscription()),
			}
			if !now.CancelAtPeriodEnd && now.CancelAt != 0 {
				update.AddExtra("cancel_at", "") // it was set as a time
			} else {
				update.CancelAtPeriodEnd = &cancel
			}
			return g.api.V1Subscriptions.Update(ctx, subscription, update)
		},
	})
}

// End implements payments.Gateway.
func (g *Gateway) End(ctx context.Context, a payments.Attempt, subscription string) error {
	return g.change(ctx, a, subscription, change[stripe.Subscription]{
		step: "end",
		made: hasEnded,
		make: func(params stripe.Params, _ *stripe.Subscription) (*stripe.Subscription, error) {
			return g.api.V1Subscriptions.Cancel(ctx, subscription, &stripe.SubscriptionCancelParams{Params: params})
		},
	})
}

// change makes a change of a subscription once, given the current subscription.
func (g *Gateway) change(
	ctx context.Context, a payments.Attempt, subscription string, c change[stripe.Subscription],
) error {
	c.look = true
	c.read = func() (*stripe.Subscription, error) { return g.subscription(ctx, subscription) }
	return done(once(ctx, g, a, c))
}

// changed is change for callers that want the subscription afterwards.
func (g *Gateway) changed(
	ctx context.Context, a payments.Attempt, subscription string, c change[stripe.Subscription],
) (payments.Subscription, error) {
	if err := g.change(ctx, a, subscription, c); err != nil {
		return payments.Subscription{}, err
	}
	return g.shown(ctx, subscription)
}

// subscription returns a subscription with all used fields.
func (g *Gateway) subscription(ctx context.Context, id string) (*stripe.Subscription, error) {
	if s := recall[stripe.Subscription](ctx, id); s != nil {
		return s, nil
	}
	s, err := g.retrieveSubscription(ctx, id, shownOfSubscription()...)
	if err == nil {
		remember(ctx, id, s)
	}
	return s, err
}

// shownOfSubscription returns the fields to expand of a subscription.
func shownOfSubscription() []string { return []string{"default_payment_method", "schedule"} }

func (g *Gateway) retrieveSubscription(ctx context.Context, id string, expand ...string) (*stripe.Subscription, error) {
	return read(ctx, g, func() (*stripe.Subscription, error) {
		return g.api.V1Subscriptions.Retrieve(ctx, id, &stripe.SubscriptionRetrieveParams{Expand: stripe.StringSlice(expand)})
	})
}

// mostSubscriptions is the number of a customer's newest subscriptions that are read.
const mostSubscriptions = 20

// subscriptions returns a customer's subscriptions, newest first.
func (g *Gateway) subscriptions(
	ctx context.Context, customer string, expand ...string,
) ([]*stripe.Subscription, error) {
	for _, field := range shownOfSubscription() {
		expand = append(expand, "data."+field)
	}
	params := &stripe.SubscriptionListParams{
		Customer: &customer, Status: stripe.String("all"), Expand: stripe.StringSlice(expand),
	}
	params.Limit = stripe.Int64(mostSubscriptions)
	return list(ctx, g, g.api.V1Subscriptions.List(ctx, params), mostSubscriptions,
		func(*stripe.Subscription) bool { return true })
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
		Pending: pending(s),
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

// endsWithPeriod reports whether a subscription ends with its period: by the provider's flag, or by an explicitly set
// time.
func endsWithPeriod(s *stripe.Subscription) bool {
	return !hasEnded(s) && (s.CancelAtPeriodEnd || s.CancelAt != 0 && s.CancelAt <= itemOf(s).CurrentPeriodEnd)
}

func hasEnded(s *stripe.Subscription) bool {
	return s.Status == stripe.SubscriptionStatusCanceled || s.Status == stripe.SubscriptionStatusIncompleteExpired
}

// at converts a Unix time; 0 means none.
func at(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}
