package stripe

import (
	"context"
	"errors"
	"strconv"

	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/internal/providers/payments"
)

// AddInvoiceItem implements payments.Gateway. While the next invoice of the subscription is a draft, the item is added
// to it. Otherwise it immediately gets an invoice of its own, paid by the subscription's card. It never waits for an
// invoice that may not be created.
func (g *Gateway) AddInvoiceItem(ctx context.Context, a payments.Attempt, item payments.InvoiceItem) (string, error) {
	var card, draft *string
	if item.Subscription != "" {
		s, err := g.subscription(ctx, item.Subscription)
		if err != nil {
			return "", err
		}
		if s.DefaultPaymentMethod != nil {
			card = &s.DefaultPaymentMethod.ID
		}
		if draft, err = g.draft(ctx, item); err != nil {
			return "", err
		}
	}
	made, err := g.addItem(ctx, a, item, draft)
	if err != nil {
		return "", err
	}
	waits, err := g.waits(ctx, item, made)
	if err != nil || waits || made.Invoice != nil {
		return made.ID, err
	}
	return made.ID, g.invoiceItem(ctx, a, item, card)
}

// draft returns the draft invoice of an item's subscription, or nil.
func (g *Gateway) draft(ctx context.Context, item payments.InvoiceItem) (*string, error) {
	params := &stripe.InvoiceListParams{
		ListParams: pages, Customer: &item.Customer, Subscription: &item.Subscription,
		Status: stripe.String(string(stripe.InvoiceStatusDraft)),
	}
	found, err := find(ctx, g, g.api.V1Invoices.List(ctx, params), func(i *stripe.Invoice) bool {
		return string(i.Currency) == item.Currency
	})
	if err != nil || found == nil {
		return nil, err
	}
	return &found.ID, nil
}

// addItem adds an item to a draft, or to none. It uses one key, so that of two callers that see different drafts one is
// refused and finds the other's item. If the draft is already final, the next attempt has no draft and another key.
func (g *Gateway) addItem(
	ctx context.Context, a payments.Attempt, item payments.InvoiceItem, draft *string,
) (*stripe.InvoiceItem, error) {
	made, err := g.createItem(ctx, a, item, "item", draft)
	if draft == nil && errors.Is(err, payments.ErrRejected) {
		return g.createItem(ctx, a, item, "item alone", nil)
	}
	return made, err
}

func (g *Gateway) createItem(
	ctx context.Context, a payments.Attempt, item payments.InvoiceItem, step string, draft *string,
) (*stripe.InvoiceItem, error) {
	return once(ctx, g, a, change[stripe.InvoiceItem]{
		step: step, look: true,
		read: func() (*stripe.InvoiceItem, error) { return g.item(ctx, a, item) },
		make: func(params stripe.Params, _ *stripe.InvoiceItem) (*stripe.InvoiceItem, error) {
			return g.api.V1InvoiceItems.Create(ctx, &stripe.InvoiceItemCreateParams{
				Params: params, Customer: &item.Customer, Invoice: draft, Amount: &item.Amount, Currency: &item.Currency,
				Description: &item.Description,
				Metadata: map[string]string{
					metaAttempt: a.ID, metaUsage: item.Usage, metaLength: strconv.FormatInt(item.Characters, 10),
				},
			})
		},
	})
}

// item returns the item added by an attempt, or nil. Usage is billed by one item, which any attempt may have added.
func (g *Gateway) item(
	ctx context.Context, a payments.Attempt, item payments.InvoiceItem,
) (*stripe.InvoiceItem, error) {
	params := &stripe.InvoiceItemListParams{ListParams: pages, Customer: &item.Customer, CreatedRange: since(a)}
	return find(ctx, g, g.api.V1InvoiceItems.List(ctx, params), func(i *stripe.InvoiceItem) bool {
		return i.Metadata[metaAttempt] == a.ID || item.Usage != "" && i.Metadata[metaUsage] == item.Usage
	})
}

// invoiceItem collects an item from a card by an invoice of its own, with all other pending items of the customer. A
// nil card means the customer's.
func (g *Gateway) invoiceItem(ctx context.Context, a payments.Attempt, item payments.InvoiceItem, card *string) error {
	return done(once(ctx, g, a, change[stripe.InvoiceItem]{
		step: "invoice",
		read: func() (*stripe.InvoiceItem, error) { return g.item(ctx, a, item) },
		made: func(now *stripe.InvoiceItem) bool { return now.Invoice != nil },
		make: func(params stripe.Params, now *stripe.InvoiceItem) (*stripe.InvoiceItem, error) {
			return now, done(g.api.V1Invoices.Create(ctx, &stripe.InvoiceCreateParams{
				Params: params, Customer: &item.Customer, Currency: &item.Currency, AutoAdvance: stripe.Bool(true),
				CollectionMethod:            stripe.String(string(stripe.InvoiceCollectionMethodChargeAutomatically)),
				PendingInvoiceItemsBehavior: stripe.String("include"), DefaultPaymentMethod: card,
				Metadata: map[string]string{metaAttempt: a.ID, metaUsage: item.Usage},
			}))
		},
	}))
}
