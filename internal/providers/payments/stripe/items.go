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
	if err != nil || !ended || made.Invoice != nil {
		return made.ID, err
	}
	return made.ID, g.invoiceItem(ctx, a, item)
}

func (g *Gateway) addItem(ctx context.Context, a payments.Attempt, item payments.InvoiceItem, ended bool) (made *stripe.InvoiceItem, err error) {
	made = &stripe.InvoiceItem{}
	err = g.once(ctx, a, change{
		step: "item",
		made: func() (bool, error) {
			found, err := g.item(ctx, a, item)
			if found != nil {
				made = found
			}
			return found != nil, err
		},
		make: func(key string) error {
			params := &stripe.InvoiceItemCreateParams{
				Customer: &item.Customer, Amount: &item.Amount, Currency: &item.Currency, Description: &item.Description,
				Metadata: map[string]string{metaAttempt: a.ID, metaUsage: item.Usage},
			}
			if item.Subscription != "" && !ended {
				params.Subscription = &item.Subscription
			}
			params.IdempotencyKey = &key
			added, err := g.api.V1InvoiceItems.Create(ctx, params)
			if err == nil {
				made = added
			}
			return err
		},
	})
	return made, err
}

// item returns what an attempt has added, or nil. A period is billed by one item, whichever attempt has added it.
func (g *Gateway) item(ctx context.Context, a payments.Attempt, item payments.InvoiceItem) (*stripe.InvoiceItem, error) {
	params := &stripe.InvoiceItemListParams{Customer: &item.Customer, CreatedRange: &stripe.RangeQueryParams{GreaterThanOrEqual: a.First.Add(-skew).Unix()}}
	params.Limit = stripe.Int64(100)
	return first(list(ctx, g, g.api.V1InvoiceItems.List(ctx, params), func(i *stripe.InvoiceItem) (*stripe.InvoiceItem, bool) {
		return i, i.Metadata[metaAttempt] == a.ID || item.Usage != "" && i.Metadata[metaUsage] == item.Usage
	}, one))
}

// invoiceItem has an item collected by an invoice of its own, with whatever else is pending for the customer.
func (g *Gateway) invoiceItem(ctx context.Context, a payments.Attempt, item payments.InvoiceItem) error {
	return g.once(ctx, a, change{
		step: "invoice",
		made: func() (bool, error) {
			found, err := g.item(ctx, a, item)
			return found != nil && found.Invoice != nil, err
		},
		make: func(key string) error {
			params := &stripe.InvoiceCreateParams{
				Customer: &item.Customer, Currency: &item.Currency, AutoAdvance: stripe.Bool(true),
				CollectionMethod:            stripe.String(string(stripe.InvoiceCollectionMethodChargeAutomatically)),
				PendingInvoiceItemsBehavior: stripe.String("include"), Metadata: map[string]string{metaAttempt: a.ID, metaUsage: item.Usage},
			}
			params.IdempotencyKey = &key
			_, err := g.api.V1Invoices.Create(ctx, params)
			return err
		},
	})
}
