package stripe

import (
	"context"
	"errors"

	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/internal/providers/payments"
)

// mostInvoices is how many of a customer are read: the newest.
const mostInvoices = 100

// Billing implements payments.Gateway.
func (g *Gateway) Billing(ctx context.Context, customer string) (payments.Billing, error) {
	c, err := g.customer(ctx, customer)
	if err != nil {
		return payments.Billing{}, err
	}
	// Of a customer that was deleted, the provider may not know the rest any more.
	known := func(err error) error { return err }
	if c.Deleted {
		known = func(err error) error {
			if errors.Is(err, payments.ErrNotFound) {
				return nil
			}
			return err
		}
	}
	billing := payments.Billing{Customer: customer, Deleted: c.Deleted}
	subscriptions, err := g.subscriptions(ctx, customer)
	if known(err) != nil {
		return payments.Billing{}, err
	}
	for _, s := range subscriptions {
		billing.Subscriptions = append(billing.Subscriptions, show(s))
	}
	billing.Card = card(paying(c, subscriptions))
	billing.Invoices, err = g.invoices(ctx, customer)
	return billing, known(err)
}

// paying returns the payment method that pays next: that of the newest subscription that goes on, or else the
// customer's.
func paying(c *stripe.Customer, newestFirst []*stripe.Subscription) *stripe.PaymentMethod {
	for _, s := range newestFirst {
		if !hasEnded(s) && s.DefaultPaymentMethod != nil {
			return s.DefaultPaymentMethod
		}
	}
	return cardOfCustomer(c)
}

// invoices returns those of a customer, the newest first.
func (g *Gateway) invoices(ctx context.Context, customer string) ([]payments.Invoice, error) {
	params := &stripe.InvoiceListParams{Customer: &customer, Expand: stripe.StringSlice([]string{"data.payments"})}
	params.Limit = stripe.Int64(mostInvoices)
	intents := map[string]string{} // invoices, by what has paid them
	var oldest int64
	invoices, err := list(ctx, g, g.api.V1Invoices.List(ctx, params), func(i *stripe.Invoice) (payments.Invoice, bool) {
		for _, intent := range paidBy(i) {
			intents[intent] = i.ID
		}
		oldest = i.Created
		return invoice(i), i.Status != stripe.InvoiceStatusDraft
	}, func(taken []payments.Invoice, _ *stripe.Invoice) bool { return len(taken) == mostInvoices })
	if err != nil || len(intents) == 0 {
		return invoices, err
	}
	returned, err := g.returned(ctx, customer, oldest)
	if err != nil {
		return nil, err
	}
	byID := map[string]*payments.Invoice{}
	for i := range invoices {
		byID[invoices[i].ID] = &invoices[i]
	}
	for _, r := range returned {
		if i := byID[intents[r.intent]]; i != nil {
			i.Refunded += r.refunded
			i.Disputed = i.Disputed || r.disputed
		}
	}
	return invoices, nil
}

// paidBy returns the payment intents of an invoice.
func paidBy(i *stripe.Invoice) []string {
	if i.Payments == nil {
		return nil
	}
	var intents []string
	for _, p := range i.Payments.Data {
		if p.Payment != nil && p.Payment.PaymentIntent != nil {
			intents = append(intents, p.Payment.PaymentIntent.ID)
		}
	}
	return intents
}

func invoice(i *stripe.Invoice) payments.Invoice {
	shown := payments.Invoice{
		ID: i.ID, Number: i.Number, Status: string(i.Status), AmountDue: i.AmountDue, AmountPaid: i.AmountPaid, Attempts: i.AttemptCount,
		Currency: string(i.Currency), CreatedAt: at(i.Created), Page: i.HostedInvoiceURL, PDF: i.InvoicePDF,
	}
	if i.Parent != nil && i.Parent.SubscriptionDetails != nil && i.Parent.SubscriptionDetails.Subscription != nil {
		shown.Subscription = i.Parent.SubscriptionDetails.Subscription.ID
	}
	return shown
}

// moneyBack is what has gone back, or may have to, of a payment.
type moneyBack struct {
	intent   string
	charge   string
	refunded int64
	disputed bool
}

// returned returns what has gone back of a customer's charges since a time. Invoices do not say it.
func (g *Gateway) returned(ctx context.Context, customer string, since int64) ([]moneyBack, error) {
	params := &stripe.ChargeListParams{Customer: &customer, CreatedRange: &stripe.RangeQueryParams{GreaterThanOrEqual: since}}
	params.Limit = stripe.Int64(100)
	all, err := list(ctx, g, g.api.V1Charges.List(ctx, params), func(c *stripe.Charge) (moneyBack, bool) {
		if c.PaymentIntent == nil || c.AmountRefunded == 0 && !c.Disputed {
			return moneyBack{}, false
		}
		return moneyBack{intent: c.PaymentIntent.ID, charge: c.ID, refunded: c.AmountRefunded, disputed: c.Disputed}, true
	}, nil)
	for i := range all {
		if err == nil && all[i].disputed {
			all[i].disputed, err = g.isDisputed(ctx, all[i].charge)
		}
	}
	return all, err
}

// isDisputed reports whether a dispute of a charge is open or lost. The charge itself stays disputed for ever.
func (g *Gateway) isDisputed(ctx context.Context, charge string) (bool, error) {
	params := &stripe.DisputeListParams{Charge: &charge}
	return first(list(ctx, g, g.api.V1Disputes.List(ctx, params), func(d *stripe.Dispute) (bool, bool) {
		return true, d.Status != stripe.DisputeStatusWon && d.Status != stripe.DisputeStatusWarningClosed && d.Status != stripe.DisputeStatusPrevented
	}, one))
}
