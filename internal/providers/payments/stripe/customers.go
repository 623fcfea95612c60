package stripe

import (
	"context"
	"errors"

	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/internal/providers/payments"
)

// CreateCustomer implements payments.Gateway. The provider gets to know nothing of the account but its id.
func (g *Gateway) CreateCustomer(ctx context.Context, a payments.Attempt, account string) (customer string, err error) {
	err = g.once(ctx, a, change{
		step: "customer",
		made: func() (bool, error) {
			customer, err = g.customerMadeBy(ctx, a)
			return customer != "", err
		},
		make: func(key string) error {
			params := &stripe.CustomerCreateParams{Metadata: map[string]string{metaAccount: account, metaAttempt: a.ID}}
			params.IdempotencyKey = &key
			made, err := g.api.V1Customers.Create(ctx, params)
			if err == nil {
				customer = made.ID
			}
			return err
		},
	})
	return customer, err
}

// customerMadeBy returns the customer that an attempt has created, or "". The provider's search lags behind; its lists
// do not.
func (g *Gateway) customerMadeBy(ctx context.Context, a payments.Attempt) (string, error) {
	params := &stripe.CustomerListParams{CreatedRange: &stripe.RangeQueryParams{GreaterThanOrEqual: a.First.Add(-skew).Unix()}}
	params.Limit = stripe.Int64(100)
	return first(list(ctx, g, g.api.V1Customers.List(ctx, params), func(c *stripe.Customer) (string, bool) {
		return c.ID, c.Metadata[metaAttempt] == a.ID
	}, one))
}

// AccountOf implements payments.Gateway.
func (g *Gateway) AccountOf(ctx context.Context, customer string) (string, error) {
	c, err := g.customer(ctx, customer)
	if err != nil {
		return "", err
	}
	return c.Metadata[metaAccount], nil
}

// customer returns a customer with the card that pays. One that was deleted has nothing that could be expanded.
func (g *Gateway) customer(ctx context.Context, id string) (*stripe.Customer, error) {
	c, err := g.retrieveCustomer(ctx, id, &stripe.CustomerRetrieveParams{Expand: stripe.StringSlice([]string{"invoice_settings.default_payment_method"})})
	if errors.Is(err, payments.ErrRejected) {
		return g.retrieveCustomer(ctx, id, nil)
	}
	return c, err
}

func (g *Gateway) retrieveCustomer(ctx context.Context, id string, params *stripe.CustomerRetrieveParams) (c *stripe.Customer, err error) {
	err = g.ask(ctx, func() (err error) {
		c, err = g.api.V1Customers.Retrieve(ctx, id, params)
		return err
	})
	return c, err
}

// CreateSetup implements payments.Gateway.
func (g *Gateway) CreateSetup(ctx context.Context, a payments.Attempt, customer string) (setup string, err error) {
	err = g.once(ctx, a, change{
		step: "setup",
		made: func() (bool, error) {
			params := &stripe.SetupIntentListParams{Customer: &customer}
			params.Limit = stripe.Int64(100)
			setup, err = first(list(ctx, g, g.api.V1SetupIntents.List(ctx, params), func(s *stripe.SetupIntent) (string, bool) {
				return s.ID, s.Metadata[metaAttempt] == a.ID
			}, one))
			return setup != "", err
		},
		make: func(key string) error {
			params := &stripe.SetupIntentCreateParams{
				Customer: &customer, Usage: stripe.String(string(stripe.SetupIntentUsageOffSession)),
				PaymentMethodTypes: stripe.StringSlice([]string{"card"}), Metadata: map[string]string{metaAttempt: a.ID},
			}
			params.IdempotencyKey = &key
			made, err := g.api.V1SetupIntents.Create(ctx, params)
			if err == nil {
				setup = made.ID
			}
			return err
		},
	})
	return setup, err
}

// SetupSecret implements payments.Gateway.
func (g *Gateway) SetupSecret(ctx context.Context, setup string) (clientSecret string, err error) {
	err = g.ask(ctx, func() error {
		s, err := g.api.V1SetupIntents.Retrieve(ctx, setup, nil)
		if err == nil {
			clientSecret = s.ClientSecret
		}
		return err
	})
	return clientSecret, err
}

// ReplaceCard implements payments.Gateway. The payment method becomes the one of the customer, and that of each of the
// subscriptions which go on, because they keep the one that has paid first. What they owe is collected at once.
func (g *Gateway) ReplaceCard(ctx context.Context, a payments.Attempt, customer, paymentMethod string) (payments.Card, error) {
	method, err := g.paymentMethod(ctx, paymentMethod)
	if err != nil {
		return payments.Card{}, err
	}
	if method.Customer == nil || method.Customer.ID != customer {
		return payments.Card{}, payments.ErrNotFound
	}
	if err := g.setCardOfCustomer(ctx, a, customer, paymentMethod); err != nil {
		return payments.Card{}, err
	}
	subscriptions, err := g.subscriptions(ctx, customer)
	if err != nil {
		return payments.Card{}, err
	}
	for _, s := range subscriptions {
		if hasEnded(s) {
			continue
		}
		if err := g.setCardOfSubscription(ctx, a, s.ID, paymentMethod); err != nil {
			return payments.Card{}, err
		}
		if err := g.setCardOfSchedule(ctx, a, s.ID, paymentMethod); err != nil {
			return payments.Card{}, err
		}
		if err := g.collect(ctx, a, s, paymentMethod); err != nil {
			return payments.Card{}, err
		}
	}
	return *card(method), nil
}

// collect pays what a subscription owes with a card, because its owner expects that of a new one. If the card does not
// pay, the invoice stays open, and the provider tries again.
func (g *Gateway) collect(ctx context.Context, a payments.Attempt, s *stripe.Subscription, paymentMethod string) error {
	if s.LatestInvoice == nil || s.Status != stripe.SubscriptionStatusPastDue && s.Status != stripe.SubscriptionStatusUnpaid {
		return nil
	}
	err := g.once(ctx, a, change{
		step: "collect/" + s.LatestInvoice.ID, look: true,
		made: func() (bool, error) {
			i, err := g.invoice(ctx, s.LatestInvoice.ID)
			return err == nil && i.Status != stripe.InvoiceStatusOpen, err
		},
		make: func(key string) error {
			params := &stripe.InvoicePayParams{PaymentMethod: &paymentMethod, OffSession: stripe.Bool(true)}
			params.IdempotencyKey = &key
			_, err := g.api.V1Invoices.Pay(ctx, s.LatestInvoice.ID, params)
			return err
		},
	})
	if errors.Is(err, payments.ErrDeclined) {
		return nil
	}
	return err
}

func (g *Gateway) invoice(ctx context.Context, id string) (i *stripe.Invoice, err error) {
	err = g.ask(ctx, func() (err error) {
		i, err = g.api.V1Invoices.Retrieve(ctx, id, nil)
		return err
	})
	return i, err
}

func (g *Gateway) paymentMethod(ctx context.Context, id string) (method *stripe.PaymentMethod, err error) {
	err = g.ask(ctx, func() (err error) {
		method, err = g.api.V1PaymentMethods.Retrieve(ctx, id, nil)
		return err
	})
	return method, err
}

func (g *Gateway) setCardOfCustomer(ctx context.Context, a payments.Attempt, customer, paymentMethod string) error {
	return g.once(ctx, a, change{
		step: "card", look: true,
		made: func() (bool, error) {
			c, err := g.customer(ctx, customer)
			return err == nil && isMethod(cardOfCustomer(c), paymentMethod), err
		},
		make: func(key string) error {
			params := &stripe.CustomerUpdateParams{InvoiceSettings: &stripe.CustomerUpdateInvoiceSettingsParams{DefaultPaymentMethod: &paymentMethod}}
			params.IdempotencyKey = &key
			_, err := g.api.V1Customers.Update(ctx, customer, params)
			return err
		},
	})
}

func (g *Gateway) setCardOfSubscription(ctx context.Context, a payments.Attempt, subscription, paymentMethod string) error {
	return g.once(ctx, a, change{
		step: "card/" + subscription, look: true,
		made: func() (bool, error) {
			s, err := g.subscription(ctx, subscription)
			return err == nil && isMethod(s.DefaultPaymentMethod, paymentMethod), err
		},
		make: func(key string) error {
			params := &stripe.SubscriptionUpdateParams{DefaultPaymentMethod: &paymentMethod}
			params.IdempotencyKey = &key
			_, err := g.api.V1Subscriptions.Update(ctx, subscription, params)
			return err
		},
	})
}

// setCardOfSchedule keeps a scheduled change from bringing the card before back.
func (g *Gateway) setCardOfSchedule(ctx context.Context, a payments.Attempt, subscription, paymentMethod string) error {
	var s *stripe.Subscription
	return g.once(ctx, a, change{
		step: "card/" + subscription + "/schedule", look: true,
		made: func() (_ bool, err error) {
			s, err = g.subscription(ctx, subscription)
			return err == nil && (!isScheduled(s) || isMethod(cardOfSchedule(s.Schedule), paymentMethod)), err
		},
		make: func(key string) error {
			params := &stripe.SubscriptionScheduleUpdateParams{DefaultSettings: paidWith(paymentMethod)}
			params.IdempotencyKey = &key
			_, err := g.api.V1SubscriptionSchedules.Update(ctx, s.Schedule.ID, params)
			return err
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

// one ends a list with its first match.
func one[R, T any](taken []R, _ T) bool { return len(taken) > 0 }

// first returns the first match of a list, or the zero value.
func first[R any](taken []R, err error) (R, error) {
	var none R
	if err != nil || len(taken) == 0 {
		return none, err
	}
	return taken[0], nil
}
