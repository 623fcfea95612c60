package stripe

import (
	"context"
	"errors"

	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/internal/providers/payments"
)

// SettleInvoices implements payments.Gateway.
func (g *Gateway) SettleInvoices(ctx context.Context, a payments.Attempt, customer string) error {
	subscriptions, err := g.subscriptions(ctx, customer)
	if err != nil {
		return unlessGone(err)
	}
	neverPaid := map[string]bool{} // their first invoices are voided when they end
	for _, s := range subscriptions {
		neverPaid[s.ID] = s.Status == stripe.SubscriptionStatusIncomplete
	}
	owed, err := list(ctx, g, g.api.V1Invoices.List(ctx, &stripe.InvoiceListParams{
		ListParams: pages, Customer: &customer,
	}), all, func(i *stripe.Invoice) bool { return isOwed(i) && !neverPaid[invoice(i).Subscription] })
	if err != nil {
		return unlessGone(err)
	}
	c, err := g.customer(ctx, customer)
	if err != nil || c.Deleted {
		return unlessGone(err)
	}
	for _, i := range owed {
		if err := g.settle(ctx, a, i.ID, paying(c, subscriptions)); err != nil {
			return err
		}
	}
	return nil
}

func isOwed(i *stripe.Invoice) bool {
	return i.Status == stripe.InvoiceStatusDraft || i.Status == stripe.InvoiceStatusOpen
}

func isNotOpen(i *stripe.Invoice) bool { return i.Status != stripe.InvoiceStatusOpen }

// settle finalises an invoice, and attempts to collect it from a card; nil means the invoice's own. An unpaid invoice
// becomes uncollectible.
func (g *Gateway) settle(ctx context.Context, a payments.Attempt, id string, from *stripe.PaymentMethod) error {
	err := g.changeInvoice(ctx, a, id, "finalize/", func(i *stripe.Invoice) bool {
		return i.Status != stripe.InvoiceStatusDraft
	}, func(params stripe.Params) (*stripe.Invoice, error) {
		return g.api.V1Invoices.FinalizeInvoice(ctx, id,
			&stripe.InvoiceFinalizeInvoiceParams{Params: params, AutoAdvance: stripe.Bool(false)})
	})
	if err != nil {
		return err
	}
	pay := &stripe.InvoicePayParams{OffSession: stripe.Bool(true)}
	if from != nil {
		pay.PaymentMethod = &from.ID
	}
	err = g.changeInvoice(ctx, a, id, "pay/", func(i *stripe.Invoice) bool { return !isOwed(i) },
		func(params stripe.Params) (*stripe.Invoice, error) {
			pay.Params = params
			return g.api.V1Invoices.Pay(ctx, id, pay)
		})
	if err == nil || errors.Is(err, payments.ErrUnavailable) {
		return err
	}
	return g.changeInvoice(ctx, a, id, "uncollectible/", func(i *stripe.Invoice) bool { return !isOwed(i) },
		func(params stripe.Params) (*stripe.Invoice, error) {
			return g.api.V1Invoices.MarkUncollectible(ctx, id, &stripe.InvoiceMarkUncollectibleParams{Params: params})
		})
}

// changeInvoice makes a change of an invoice once.
func (g *Gateway) changeInvoice(
	ctx context.Context, a payments.Attempt, id, step string, made func(*stripe.Invoice) bool,
	make func(stripe.Params) (*stripe.Invoice, error),
) error {
	return done(once(ctx, g, a, change[stripe.Invoice]{
		step: step + id, look: true, made: made,
		read: func() (*stripe.Invoice, error) { return g.invoice(ctx, id) },
		make: func(params stripe.Params, _ *stripe.Invoice) (*stripe.Invoice, error) { return make(params) },
	}))
}

// DeleteCustomer implements payments.Gateway.
func (g *Gateway) DeleteCustomer(ctx context.Context, a payments.Attempt, customer string) error {
	return unlessGone(done(once(ctx, g, a, change[stripe.Customer]{
		step: "delete", look: true,
		read: func() (*stripe.Customer, error) { return g.retrieveCustomer(ctx, customer, nil) },
		made: func(c *stripe.Customer) bool { return c.Deleted },
		make: func(params stripe.Params, _ *stripe.Customer) (*stripe.Customer, error) {
			return g.api.V1Customers.Delete(ctx, customer, &stripe.CustomerDeleteParams{Params: params})
		},
	})))
}

// unlessGone returns err, or nil for an object that the provider no longer knows.
func unlessGone(err error) error {
	if errors.Is(err, payments.ErrNotFound) {
		return nil
	}
	return err
}

// Collect implements payments.Gateway.
func (g *Gateway) Collect(ctx context.Context, a payments.Attempt, customer string) error {
	c, err := g.customer(ctx, customer)
	if err != nil || c.Deleted {
		return err
	}
	subscriptions, err := g.subscriptions(ctx, customer)
	if err != nil {
		return err
	}
	method := paying(c, subscriptions)
	if method == nil {
		return nil
	}
	if _, err := g.setCardOfCustomer(ctx, a, customer, method.ID); err != nil {
		return err
	}
	return g.collectItems(ctx, a, customer, method.ID)
}

// collectItems pays with a card the open invoices of a customer that AddInvoiceItem has created.
func (g *Gateway) collectItems(ctx context.Context, a payments.Attempt, customer, paymentMethod string) error {
	params := &stripe.InvoiceListParams{
		ListParams: pages, Customer: &customer, Status: stripe.String(string(stripe.InvoiceStatusOpen)),
	}
	open, err := list(ctx, g, g.api.V1Invoices.List(ctx, params), all, func(i *stripe.Invoice) bool {
		return i.Metadata[metaUsage] != ""
	})
	for _, i := range open {
		if err := g.collect(ctx, a, i.ID, paymentMethod); err != nil {
			return err
		}
	}
	return err
}

// collectDue pays the open invoices of a subscription with a card.
func (g *Gateway) collectDue(
	ctx context.Context, a payments.Attempt, s *stripe.Subscription, paymentMethod string,
) error {
	if s.LatestInvoice == nil || s.Status != stripe.SubscriptionStatusPastDue &&
		s.Status != stripe.SubscriptionStatusUnpaid {
		return nil
	}
	return g.collect(ctx, a, s.LatestInvoice.ID, paymentMethod)
}

// collect pays an open invoice with a card, as its owner expects of a new one. If the card is declined, the invoice
// stays open, and the provider tries again.
func (g *Gateway) collect(ctx context.Context, a payments.Attempt, invoice, paymentMethod string) error {
	err := g.changeInvoice(ctx, a, invoice, "collect/", isNotOpen, func(params stripe.Params) (*stripe.Invoice, error) {
		return g.api.V1Invoices.Pay(ctx, invoice, &stripe.InvoicePayParams{
			Params: params, PaymentMethod: &paymentMethod, OffSession: stripe.Bool(true),
		})
	})
	if errors.Is(err, payments.ErrDeclined) {
		return nil
	}
	return err
}

func (g *Gateway) invoice(ctx context.Context, id string) (*stripe.Invoice, error) {
	return read(ctx, g, func() (*stripe.Invoice, error) { return g.api.V1Invoices.Retrieve(ctx, id, nil) })
}
