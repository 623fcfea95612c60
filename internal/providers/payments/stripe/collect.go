package stripe

import (
	"context"
	"errors"

	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/internal/providers/payments"
)

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

// collectDue pays what a subscription owes with a card.
func (g *Gateway) collectDue(
	ctx context.Context, a payments.Attempt, s *stripe.Subscription, paymentMethod string,
) error {
	if s.LatestInvoice == nil || s.Status != stripe.SubscriptionStatusPastDue &&
		s.Status != stripe.SubscriptionStatusUnpaid {
		return nil
	}
	return g.collect(ctx, a, s.LatestInvoice.ID, paymentMethod)
}

// collect pays an open invoice with a card, because its owner expects that of a new one. If the card does not pay, the
// invoice stays open, and the provider tries again.
func (g *Gateway) collect(ctx context.Context, a payments.Attempt, invoice, paymentMethod string) error {
	_, err := once(ctx, g, a, change[stripe.Invoice]{
		step: "collect/" + invoice, look: true,
		read: func() (*stripe.Invoice, error) { return g.invoice(ctx, invoice) },
		made: func(i *stripe.Invoice) bool { return i.Status != stripe.InvoiceStatusOpen },
		make: func(params stripe.Params, _ *stripe.Invoice) (*stripe.Invoice, error) {
			return g.api.V1Invoices.Pay(ctx, invoice, &stripe.InvoicePayParams{
				Params: params, PaymentMethod: &paymentMethod, OffSession: stripe.Bool(true),
			})
		},
	})
	if errors.Is(err, payments.ErrDeclined) {
		return nil
	}
	return err
}

func (g *Gateway) invoice(ctx context.Context, id string) (*stripe.Invoice, error) {
	return read(ctx, g, func() (*stripe.Invoice, error) { return g.api.V1Invoices.Retrieve(ctx, id, nil) })
}
