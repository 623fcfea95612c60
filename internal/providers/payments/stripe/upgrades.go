package stripe

import (
	"context"
	"errors"
	"strconv"

	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/internal/providers/payments"
)

// ChangePrice implements payments.Gateway. The provider permits a change of a subscription with a schedule, so the
// schedule is dropped last: a change that cannot be paid leaves it in place. The change is first attempted in a mode in
// which a declined card has no effect. If the card's owner has to confirm, it is made as a pending change.
func (g *Gateway) ChangePrice(
	ctx context.Context, a payments.Attempt, c payments.PriceChange,
) (payments.Subscription, error) {
	if err := g.void(ctx, a, c.Replaces); err != nil {
		return payments.Subscription{}, err
	}
	s, err := g.reprice(ctx, a, c, "price", "error_if_incomplete", map[string]string{metaChange: a.ID})
	if asksOwner(err) {
		s, err = g.reprice(ctx, a, c, "pending", "pending_if_incomplete", nil) // which permits no metadata
	}
	switch {
	case err != nil:
		return payments.Subscription{}, err
	case priceOf(s) != c.Price:
		return g.pendingChange(ctx, a, s)
	case !isScheduled(s):
		return show(s), nil
	}
	return g.changed(ctx, a, c.Subscription, g.release(ctx))
}

// reprice changes the price of a subscription, and returns the subscription.
func (g *Gateway) reprice(
	ctx context.Context, a payments.Attempt, c payments.PriceChange, step, behavior string, metadata map[string]string,
) (*stripe.Subscription, error) {
	return once(ctx, g, a, change[stripe.Subscription]{
		step: step, look: true,
		read: func() (*stripe.Subscription, error) { return g.subscription(ctx, c.Subscription) },
		made: func(s *stripe.Subscription) bool {
			next := pending(s)
			return !hasEnded(s) && (priceOf(s) == c.Price || next != nil && next.Price == c.Price)
		},
		make: func(params stripe.Params, now *stripe.Subscription) (*stripe.Subscription, error) {
			return g.api.V1Subscriptions.Update(ctx, c.Subscription, &stripe.SubscriptionUpdateParams{
				Params: params, Items: []*stripe.SubscriptionUpdateItemParams{{ID: &itemOf(now).ID, Price: &c.Price}},
				ProrationBehavior: stripe.String("always_invoice"), PaymentBehavior: &behavior, Metadata: metadata,
				Expand: stripe.StringSlice(shownOfSubscription()),
			})
		},
	})
}

// PreviewPrice implements payments.Gateway.
func (g *Gateway) PreviewPrice(ctx context.Context, subscription, price string) (payments.Preview, error) {
	s, err := g.subscription(ctx, subscription)
	if err != nil {
		return payments.Preview{}, err
	}
	i, err := read(ctx, g, func() (*stripe.Invoice, error) {
		return g.api.V1Invoices.CreatePreview(ctx, &stripe.InvoiceCreatePreviewParams{
			Subscription: &subscription,
			SubscriptionDetails: &stripe.InvoiceCreatePreviewSubscriptionDetailsParams{
				Items: []*stripe.InvoiceCreatePreviewSubscriptionDetailsItemParams{
					{ID: &itemOf(s).ID, Price: &price},
				},
				ProrationBehavior: stripe.String("always_invoice"),
			},
		})
	})
	if err != nil {
		return payments.Preview{}, err
	}
	preview := payments.Preview{AmountDue: i.AmountDue, Currency: string(i.Currency)}
	if i.Lines != nil {
		for _, l := range i.Lines.Data {
			preview.Lines = append(preview.Lines, payments.PreviewLine{Description: l.Description, Amount: l.Amount})
		}
	}
	return preview, nil
}

// asksOwner reports whether a payment was declined because the card's owner has to confirm it.
func asksOwner(err error) bool {
	r, found := errors.AsType[*refusal](err)
	return found && (r.code == "subscription_payment_intent_requires_action" ||
		r.code == string(stripe.ErrorCodeAuthenticationRequired))
}

// pendingChange returns a subscription with the change that the card's owner has to confirm. If the payment was
// declined without a request for confirmation, it drops the change. Meanwhile the change may have been made, or have
// lapsed.
func (g *Gateway) pendingChange(
	ctx context.Context, a payments.Attempt, s *stripe.Subscription,
) (payments.Subscription, error) {
	i, err := g.invoiceWithPayments(ctx, s.LatestInvoice.ID)
	if err != nil {
		return payments.Subscription{}, err
	}
	intent := intentOf(i)
	switch {
	case i.Status == stripe.InvoiceStatusPaid:
		return g.changed(ctx, a, s.ID, g.release(ctx))
	case i.Status == stripe.InvoiceStatusOpen && intent.Status != stripe.PaymentIntentStatusRequiresPaymentMethod:
		return show(s), nil
	}
	if err := g.void(ctx, a, i.ID); err != nil {
		return payments.Subscription{}, err
	}
	declined := &refusal{kind: payments.ErrDeclined}
	if intent.LastPaymentError != nil {
		declined.code, declined.decline = string(intent.LastPaymentError.Code), string(intent.LastPaymentError.DeclineCode)
	}
	return payments.Subscription{}, declined
}

// void voids an open invoice, and thus drops the change that depends on it. "" means none.
func (g *Gateway) void(ctx context.Context, a payments.Attempt, invoice string) error {
	if invoice == "" {
		return nil
	}
	return g.changeInvoice(ctx, a, invoice, "void/", isNotOpen, func(params stripe.Params) (*stripe.Invoice, error) {
		return g.api.V1Invoices.VoidInvoice(ctx, invoice, &stripe.InvoiceVoidInvoiceParams{Params: params})
	})
}

// pending returns the change that takes effect when the latest invoice is paid.
func pending(s *stripe.Subscription) *payments.PendingChange {
	next := s.PendingUpdate
	if next == nil || s.LatestInvoice == nil || len(next.SubscriptionItems) == 0 ||
		next.SubscriptionItems[0].Price == nil {
		return nil
	}
	return &payments.PendingChange{
		Price: next.SubscriptionItems[0].Price.ID, Invoice: s.LatestInvoice.ID, ExpiresAt: at(next.ExpiresAt),
	}
}

// ClientSecret implements payments.Gateway.
func (g *Gateway) ClientSecret(ctx context.Context, invoice string) (string, error) {
	i, err := g.invoiceWithPayments(ctx, invoice)
	if err != nil {
		return "", err
	}
	return intentOf(i).ClientSecret, nil
}

// invoiceWithPayments returns an invoice with the payment intents that pay it.
func (g *Gateway) invoiceWithPayments(ctx context.Context, id string) (*stripe.Invoice, error) {
	return read(ctx, g, func() (*stripe.Invoice, error) {
		return g.api.V1Invoices.Retrieve(ctx, id, &stripe.InvoiceRetrieveParams{
			Expand: stripe.StringSlice([]string{"payments.data.payment.payment_intent"}),
		})
	})
}

// intentOf returns the payment intent of an invoice, and an empty one for an invoice with nothing to pay.
func intentOf(i *stripe.Invoice) *stripe.PaymentIntent {
	if i.Payments != nil {
		for _, p := range i.Payments.Data {
			if p.Payment != nil && p.Payment.PaymentIntent != nil {
				return p.Payment.PaymentIntent
			}
		}
	}
	return &stripe.PaymentIntent{}
}

// minima are the provider's minimum charges, in minor units, by
// https://docs.stripe.com/currencies#minimum-and-maximum-charge-amounts. A smaller invoice is marked as paid, and its
// amount is added to the customer's balance.
var minima = map[string]int64{
	"aed": 200, "aud": 50, "bgn": 100, "brl": 50, "cad": 50, "chf": 50, "czk": 1500, "dkk": 250, "eur": 50, "gbp": 30,
	"hkd": 400, "huf": 17500, "inr": 50, "jpy": 50, "mxn": 1000, "myr": 200, "nok": 300, "nzd": 50, "pln": 200,
	"ron": 200, "sek": 300, "sgd": 50, "thb": 1000, "usd": 50,
}

// waits reports whether an item without an invoice, together with all waiting items, is too small to be charged.
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
	characters, _ := strconv.ParseInt(i.Metadata[metaLength], 10, 64) // an item without it has an unknown length
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
