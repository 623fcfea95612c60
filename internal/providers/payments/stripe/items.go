package stripe

import (
	"context"

	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/internal/providers/payments"
)

// AddInvoiceItem implements payments.Gateway. A subscription that has ended has no next invoice: the item gets one of
// its own.
func (g *Gateway) AddInvoiceItem(ctx context.Context, a payments.Attempt, item payments.InvoiceItem) (string, error) {
	var ended bool
	if item.Subscription != "" {
		s, err := g.subscription(ctx, item.Subscription)
		if err != nil {
			return "", err
		}
		ended = hasEnded(s)
	}
	made, err := g.addItem(ctx, a, item, ended)
	if err != nil {
		return "", err
	}
	if !ended || made.Invoice != nil {
		return made.ID, nil
	}
	return made.ID, g.invoiceItem(ctx, a, item)
}

func (g *Gateway) addItem(
	ctx context.Context, a payments.Attempt, item payments.InvoiceItem, ended bool,
) (*stripe.InvoiceItem, error) {
	return once(ctx, g, a, change[stripe.InvoiceItem]{
		step: "item",
		read: func() (*stripe.InvoiceItem, error) { return g.item(ctx, a, item) },
		make: func(params stripe.Params, _ *stripe.InvoiceItem) (*stripe.InvoiceItem, error) {
			create := &stripe.InvoiceItemCreateParams{
				Params: params, Customer: &item.Customer, Amount: &item.Amount, Currency: &item.Currency,
				Description: &item.Description, Metadata: map[string]string{metaAttempt: a.ID, metaUsage: item.Usage},
			}
			if item.Subscription != "" && !ended {
				create.Subscription = &item.Subscription
			}
			return g.api.V1InvoiceItems.Create(ctx, create)
		},
	})
}

// item returns what an attempt has added, or nil. A period is billed by one item, whichever attempt has added it.
func (g *Gateway) item(
	ctx context.Context, a payments.Attempt, item payments.InvoiceItem,
) (*stripe.InvoiceItem, error) {
	params := &stripe.InvoiceItemListParams{ListParams: pages, Customer: &item.Customer, CreatedRange: since(a)}
	return find(ctx, g, g.api.V1InvoiceItems.List(ctx, params), func(i *stripe.InvoiceItem) bool {
		return i.Metadata[metaAttempt] == a.ID || item.Usage != "" && i.Metadata[metaUsage] == item.Usage
	})
}

// invoiceItem has an item collected by an invoice of its own, with whatever else is pending for the customer.
func (g *Gateway) invoiceItem(ctx context.Context, a payments.Attempt, item payments.InvoiceItem) error {
	return done(once(ctx, g, a, change[stripe.InvoiceItem]{
		step: "invoice",
		read: func() (*stripe.InvoiceItem, error) { return g.item(ctx, a, item) },
		made: func(now *stripe.InvoiceItem) bool { return now.Invoice != nil },
		make: func(params stripe.Params, now *stripe.InvoiceItem) (*stripe.InvoiceItem, error) {
			return now, done(g.api.V1Invoices.Create(ctx, &stripe.InvoiceCreateParams{
				Params: params, Customer: &item.Customer, Currency: &item.Currency, AutoAdvance: stripe.Bool(true),
				CollectionMethod:            stripe.String(string(stripe.InvoiceCollectionMethodChargeAutomatically)),
				PendingInvoiceItemsBehavior: stripe.String("include"),
				Metadata:                    map[string]string{metaAttempt: a.ID, metaUsage: item.Usage},
			}))
		},
	}))
}
