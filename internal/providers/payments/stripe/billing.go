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
func (g *Gateway) invoices(ctx context.Context, customer string) (invoices []payments.Invoice, err error) {
	params := &stripe.InvoiceListParams{
		ListParams: pages, Customer: &customer, Expand: stripe.StringSlice([]string{"data.payments"}),
	}
	found, err := list(ctx, g, g.api.V1Invoices.List(ctx, params), mostInvoices, func(i *stripe.Invoice) bool {
		return i.Status != stripe.InvoiceStatusDraft
	})
	if err != nil {
		return nil, err
	}
	paid := map[string]int{} // indexes of invoices, by the payment intents that have paid them
	for n, i := range found {
		invoices = append(invoices, invoice(i))
		for _, intent := range paidBy(i) {
			paid[intent] = n
		}
	}
	if len(paid) == 0 {
		return invoices, nil
	}
	return invoices, g.addReturned(ctx, customer, found[len(found)-1].Created, func(intent string) *payments.Invoice {
		if n, ok := paid[intent]; ok {
			return &invoices[n]
		}
		return nil
	})
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
		ID: i.ID, Number: i.Number, Status: string(i.Status), AmountDue: i.AmountDue, AmountPaid: i.AmountPaid,
		Attempts: i.AttemptCount,
		Currency: string(i.Currency), CreatedAt: at(i.Created), Page: i.HostedInvoiceURL, PDF: i.InvoicePDF,
	}
	if i.Parent != nil && i.Parent.SubscriptionDetails != nil && i.Parent.SubscriptionDetails.Subscription != nil {
		shown.Subscription = i.Parent.SubscriptionDetails.Subscription.ID
	}
	return shown
}

// addReturned adds what has gone back, or may have to, of a customer's charges since a time, to the invoices that they
// have paid. Invoices do not contain it.
func (g *Gateway) addReturned(
	ctx context.Context, customer string, since int64, invoiceOf func(intent string) *payments.Invoice,
) error {
	params := &stripe.ChargeListParams{
		ListParams: pages, Customer: &customer, CreatedRange: &stripe.RangeQueryParams{GreaterThanOrEqual: since},
	}
	charges, err := list(ctx, g, g.api.V1Charges.List(ctx, params), all, func(c *stripe.Charge) bool {
		return c.PaymentIntent != nil && (c.AmountRefunded != 0 || c.Disputed)
	})
	if err != nil {
		return err
	}
	for _, c := range charges {
		paid := invoiceOf(c.PaymentIntent.ID)
		if paid == nil {
			continue
		}
		paid.Refunded += c.AmountRefunded
		if c.Disputed {
			if err := g.addDisputes(ctx, c.ID, paid); err != nil {
				return err
			}
		}
	}
	return nil
}

// addDisputes adds the disputes of a charge to the invoice that it has paid. The charge itself stays disputed for ever.
func (g *Gateway) addDisputes(ctx context.Context, charge string, paid *payments.Invoice) error {
	params := &stripe.DisputeListParams{ListParams: pages, Charge: &charge}
	disputes, err := list(ctx, g, g.api.V1Disputes.List(ctx, params), all, func(d *stripe.Dispute) bool {
		return verdict(d) != ""
	})
	for _, d := range disputes {
		if of := verdict(d); weight[of] >= weight[paid.Dispute] {
			paid.Dispute, paid.Disputed = of, of != won
		}
		paid.DisputedSum += d.Amount
	}
	return err
}

const open, won, lost = "open", "won", "lost"

// weight decides which of several disputes is shown.
var weight = map[string]int{won: 1, open: 2, lost: 3}

// verdict returns how a dispute stands, "" for one in which no money is claimed.
func verdict(d *stripe.Dispute) string {
	switch d.Status {
	case stripe.DisputeStatusLost:
		return lost
	case stripe.DisputeStatusWon:
		return won
	case stripe.DisputeStatusPrevented, stripe.DisputeStatusWarningClosed:
		return ""
	}
	return open
}
