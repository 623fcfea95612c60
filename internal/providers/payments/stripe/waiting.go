package stripe

import (
	"context"
	"errors"
	"strconv"

	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/internal/providers/payments"
)

// minima are the least amounts that the provider charges, in minor units, by
// https://docs.stripe.com/currencies#minimum-and-maximum-charge-amounts. An invoice of less is marked as paid, and the
// customer's balance takes the amount.
var minima = map[string]int64{
	"aed": 200, "aud": 50, "bgn": 100, "brl": 50, "cad": 50, "chf": 50, "czk": 1500, "dkk": 250, "eur": 50, "gbp": 30,
	"hkd": 400, "huf": 17500, "inr": 50, "jpy": 50, "mxn": 1000, "myr": 200, "nok": 300, "nzd": 50, "pln": 200,
	"ron": 200, "sek": 300, "sgd": 50, "thb": 1000, "usd": 50,
}

// waits reports whether an item that is on no invoice comes to too little for one, with all that waits with it.
func (g *Gateway) waits(ctx context.Context, item payments.InvoiceItem, made *stripe.InvoiceItem) (bool, error) {
	if made.Invoice != nil || item.Amount >= minima[item.Currency] {
		return false, nil
	}
	waiting, err := g.WaitingItems(ctx, item.Customer)
	for _, w := range waiting {
		if w.ID == made.ID {
			return true, nil
		}
	}
	return false, err
}

// WaitingItems implements payments.Gateway.
func (g *Gateway) WaitingItems(ctx context.Context, customer string) (waiting []payments.AddedItem, err error) {
	params := &stripe.InvoiceItemListParams{ListParams: pages, Customer: &customer, Pending: stripe.Bool(true)}
	pending, err := list(ctx, g, g.api.V1InvoiceItems.List(ctx, params), all,
		func(*stripe.InvoiceItem) bool { return true })
	sums := map[stripe.Currency]int64{}
	for _, i := range pending {
		sums[i.Currency] += i.Amount
	}
	for _, i := range pending {
		if i.Metadata[metaUsage] != "" && sums[i.Currency] < minima[string(i.Currency)] {
			waiting = append(waiting, addedItem(i))
		}
	}
	return waiting, err
}

// VoidItems implements payments.Gateway.
func (g *Gateway) VoidItems(ctx context.Context, customer string) (void []payments.AddedItem, err error) {
	params := &stripe.InvoiceItemListParams{ListParams: pages, Customer: &customer}
	params.AddExpand("data.invoice")
	found, err := list(ctx, g, g.api.V1InvoiceItems.List(ctx, params), all, func(i *stripe.InvoiceItem) bool {
		return i.Metadata[metaUsage] != "" && i.Invoice != nil && i.Invoice.Status == stripe.InvoiceStatusVoid
	})
	for _, i := range found {
		void = append(void, addedItem(i))
	}
	return void, err
}

func addedItem(i *stripe.InvoiceItem) payments.AddedItem {
	characters, _ := strconv.ParseInt(i.Metadata[metaLength], 10, 64) // an item without it is of an unknown length
	return payments.AddedItem{
		ID: i.ID, Usage: i.Metadata[metaUsage], Characters: characters, Amount: i.Amount, Currency: string(i.Currency),
	}
}

// Owed implements payments.Gateway: the customer's balance (https://docs.stripe.com/billing/customer/balance).
func (g *Gateway) Owed(ctx context.Context, customer string) (amount int64, currency string, err error) {
	c, err := g.retrieveCustomer(ctx, customer, nil)
	if err != nil {
		return 0, "", err
	}
	return c.Balance, string(c.Currency), nil
}

// DropItem implements payments.Gateway.
func (g *Gateway) DropItem(ctx context.Context, id string) error {
	err := g.ask(ctx, func() error {
		_, err := g.api.V1InvoiceItems.Delete(ctx, id, nil)
		return err
	})
	if errors.Is(err, payments.ErrNotFound) {
		return nil
	}
	return err
}
