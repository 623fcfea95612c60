package stripe

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/internal/providers/payments"
)

// CreateCustomer implements payments.Gateway. It has no address, because a repetition must have the same content.
func (g *Gateway) CreateCustomer(ctx context.Context, a payments.Attempt, account string) (string, error) {
	made, err := once(ctx, g, a, change[stripe.Customer]{
		step: "customer",
		// the provider's search lags; its lists do not
		read: func() (*stripe.Customer, error) {
			params := &stripe.CustomerListParams{ListParams: pages, CreatedRange: since(a)}
			return find(ctx, g, g.api.V1Customers.List(ctx, params),
				func(c *stripe.Customer) bool { return c.Metadata[metaAttempt] == a.ID })
		},
		make: func(params stripe.Params, _ *stripe.Customer) (*stripe.Customer, error) {
			return g.api.V1Customers.Create(ctx, &stripe.CustomerCreateParams{
				Params: params, Metadata: map[string]string{metaAccount: account, metaAttempt: a.ID},
			})
		},
	})
	if err != nil {
		return "", err
	}
	return made.ID, nil
}

// SetAddress implements payments.Gateway.
func (g *Gateway) SetAddress(ctx context.Context, a payments.Attempt, customer, address string) error {
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(address)))
	told := func(c *stripe.Customer) bool { return c.Deleted || c.Metadata[metaAddress] == hash }
	if known := recall[standing](ctx, customer); known != nil && told(known.customer) {
		return nil
	}
	return done(once(ctx, g, a, change[stripe.Customer]{
		step: "address", made: told,
		read: func() (*stripe.Customer, error) { return g.customer(ctx, customer) },
		make: func(params stripe.Params, _ *stripe.Customer) (*stripe.Customer, error) {
			return g.api.V1Customers.Update(ctx, customer, &stripe.CustomerUpdateParams{
				Params: params, Email: &address, Metadata: map[string]string{metaAddress: hash},
			})
		},
	}))
}

// AccountOf implements payments.Gateway.
func (g *Gateway) AccountOf(ctx context.Context, customer string) (string, error) {
	c, err := g.customer(ctx, customer)
	if err != nil {
		return "", err
	}
	return c.Metadata[metaAccount], nil
}

// shownOfCustomer is the field to expand for a customer's card.
const shownOfCustomer = "invoice_settings.default_payment_method"

// knownCustomer is like customer, but uses the standing cached within the operation.
func (g *Gateway) knownCustomer(ctx context.Context, id string) (*stripe.Customer, error) {
	if known := recall[standing](ctx, id); known != nil {
		return known.customer, nil
	}
	return g.customer(ctx, id)
}

// customer returns a customer with the paying card. A deleted customer has no field to expand.
func (g *Gateway) customer(ctx context.Context, id string) (*stripe.Customer, error) {
	c, err := g.retrieveCustomer(ctx, id,
		&stripe.CustomerRetrieveParams{Expand: stripe.StringSlice([]string{shownOfCustomer})})
	if errors.Is(err, payments.ErrRejected) {
		return g.retrieveCustomer(ctx, id, nil)
	}
	return c, err
}

func (g *Gateway) retrieveCustomer(
	ctx context.Context, id string, params *stripe.CustomerRetrieveParams,
) (*stripe.Customer, error) {
	return read(ctx, g, func() (*stripe.Customer, error) { return g.api.V1Customers.Retrieve(ctx, id, params) })
}

// CreateSetup implements payments.Gateway.
func (g *Gateway) CreateSetup(ctx context.Context, a payments.Attempt, customer string) (string, error) {
	setup, err := once(ctx, g, a, change[stripe.SetupIntent]{
		step: "setup",
		read: func() (*stripe.SetupIntent, error) {
			params := &stripe.SetupIntentListParams{ListParams: pages, Customer: &customer}
			return find(ctx, g, g.api.V1SetupIntents.List(ctx, params),
				func(s *stripe.SetupIntent) bool { return s.Metadata[metaAttempt] == a.ID })
		},
		make: func(params stripe.Params, _ *stripe.SetupIntent) (*stripe.SetupIntent, error) {
			return g.api.V1SetupIntents.Create(ctx, &stripe.SetupIntentCreateParams{
				Params: params, Customer: &customer, Usage: stripe.String(string(stripe.SetupIntentUsageOffSession)),
				PaymentMethodTypes: stripe.StringSlice([]string{"card"}), Metadata: map[string]string{metaAttempt: a.ID},
			})
		},
	})
	if err != nil {
		return "", err
	}
	return setup.ID, nil
}

// SetupSecret implements payments.Gateway.
func (g *Gateway) SetupSecret(ctx context.Context, setup string) (clientSecret string, err error) {
	s, err := read(ctx, g, func() (*stripe.SetupIntent, error) { return g.api.V1SetupIntents.Retrieve(ctx, setup, nil) })
	if err != nil {
		return "", err
	}
	return s.ClientSecret, nil
}

// ReplaceCard implements payments.Gateway. The payment method becomes the default of the customer and of each running
// subscription, which would otherwise keep its first one. Open invoices are collected immediately.
func (g *Gateway) ReplaceCard(
	ctx context.Context, a payments.Attempt, customer, paymentMethod string,
) (payments.Card, error) {
	before, err := g.knownStanding(ctx, customer)
	if err != nil {
		return payments.Card{}, err
	}
	// The provider permits no card of another customer.
	c, err := g.setCardOfCustomer(ctx, a, customer, paymentMethod)
	if err != nil {
		return payments.Card{}, err
	}
	for _, s := range before.subscriptions {
		if hasEnded(s) {
			continue
		}
		remember(ctx, s.ID, s)
		if err := g.setCardOfSubscription(ctx, a, s.ID, paymentMethod); err != nil {
			return payments.Card{}, err
		}
		if err := g.setCardOfSchedule(ctx, a, s.ID, paymentMethod); err != nil {
			return payments.Card{}, err
		}
		if err := g.collectDue(ctx, a, s, paymentMethod); err != nil {
			return payments.Card{}, err
		}
	}
	return *card(cardOfCustomer(c)), g.collectItems(ctx, a, customer, paymentMethod)
}

func (g *Gateway) setCardOfCustomer(
	ctx context.Context, a payments.Attempt, customer, paymentMethod string,
) (*stripe.Customer, error) {
	return once(ctx, g, a, change[stripe.Customer]{
		step: "card", look: true,
		read: func() (*stripe.Customer, error) { return g.knownCustomer(ctx, customer) },
		made: func(c *stripe.Customer) bool { return isMethod(cardOfCustomer(c), paymentMethod) },
		make: func(params stripe.Params, _ *stripe.Customer) (*stripe.Customer, error) {
			return g.api.V1Customers.Update(ctx, customer, &stripe.CustomerUpdateParams{
				Params: params, InvoiceSettings: &stripe.CustomerUpdateInvoiceSettingsParams{DefaultPaymentMethod: &paymentMethod},
				Expand: stripe.StringSlice([]string{shownOfCustomer}),
			})
		},
	})
}

func (g *Gateway) setCardOfSubscription(
	ctx context.Context, a payments.Attempt, subscription, paymentMethod string,
) error {
	return g.change(ctx, a, subscription, change[stripe.Subscription]{
		step: "card/" + subscription,
		made: func(s *stripe.Subscription) bool { return isMethod(s.DefaultPaymentMethod, paymentMethod) },
		make: func(params stripe.Params, _ *stripe.Subscription) (*stripe.Subscription, error) {
			return g.api.V1Subscriptions.Update(ctx, subscription, &stripe.SubscriptionUpdateParams{
				Params: params, DefaultPaymentMethod: &paymentMethod, Expand: stripe.StringSlice(shownOfSubscription()),
			})
		},
	})
}

// setCardOfSchedule prevents a scheduled change from restoring the previous card.
func (g *Gateway) setCardOfSchedule(ctx context.Context, a payments.Attempt, subscription, paymentMethod string) error {
	return g.change(ctx, a, subscription, change[stripe.Subscription]{
		step: "card/" + subscription + "/schedule",
		made: func(s *stripe.Subscription) bool {
			return !isScheduled(s) || isMethod(cardOfSchedule(s.Schedule), paymentMethod)
		},
		make: func(params stripe.Params, now *stripe.Subscription) (*stripe.Subscription, error) {
			return now, done(g.api.V1SubscriptionSchedules.Update(ctx, now.Schedule.ID, &stripe.SubscriptionScheduleUpdateParams{
				Params: params, DefaultSettings: paidWith(paymentMethod),
			}))
		},
	})
}

func cardOfSchedule(schedule *stripe.SubscriptionSchedule) *stripe.PaymentMethod {
	if schedule.DefaultSettings == nil {
		return nil
	}
	return schedule.DefaultSettings.DefaultPaymentMethod
}

func cardOfCustomer(c *stripe.Customer) *stripe.PaymentMethod {
	if c.InvoiceSettings == nil {
		return nil
	}
	return c.InvoiceSettings.DefaultPaymentMethod
}

func isMethod(method *stripe.PaymentMethod, id string) bool { return method != nil && method.ID == id }

func card(method *stripe.PaymentMethod) *payments.Card {
	if method == nil {
		return nil
	}
	shown := &payments.Card{PaymentMethod: method.ID, Brand: string(method.Type)}
	if method.Card != nil {
		shown.Brand, shown.Last4 = string(method.Card.Brand), method.Card.Last4
	}
	return shown
}
