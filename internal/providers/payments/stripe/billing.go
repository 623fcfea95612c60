package stripe

import (
	"context"
	"errors"

	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/internal/providers/payments"
)

// mostInvoices is the number of a customer's newest invoices that are read.
const mostInvoices = 100

// Billing implements payments.Gateway.
func (g *Gateway) Billing(ctx context.Context, customer string) (payments.Billing, error) {
	return g.billing(ctx, customer, func() ([]payments.Invoice, error) {
		return g.invoices(ctx, customer)
	})
}

// Excerpt implements payments.Gateway.
func (g *Gateway) Excerpt(ctx context.Context, customer string, invoices bool) (payments.Billing, error) {
	return g.billing(ctx, customer, func() (shown []payments.Invoice, err error) {
		if !invoices {
			return nil, nil
		}
		found, err := g.listInvoices(ctx, customer)
		for _, i := range found {
			shown = append(shown, invoice(i))
		}
		return shown, err
	})
}

func (g *Gateway) billing(
	ctx context.Context, customer string, invoices func() ([]payments.Invoice, error),
) (payments.Billing, error) {
	now, err := g.standing(ctx, customer)
	if err != nil {
		return payments.Billing{}, err
	}
	billing := payments.Billing{
		Customer: customer, Deleted: now.customer.Deleted, Card: card(paying(now.customer, now.subscriptions)),
	}
	for _, s := range now.subscriptions {
		billing.Subscriptions = append(billing.Subscriptions, show(s))
	}
	billing.Invoices, err = invoices()
	return billing, unlessDeleted(now.customer, err)
}

// unlessDeleted returns err, or nil for an unknown object of a deleted customer.
func unlessDeleted(c *stripe.Customer, err error) error {
	if c.Deleted && errors.Is(err, payments.ErrNotFound) {
		return nil
	}
	return err
}

// standing is a customer with its subscriptions, the newest first.
type standing struct {
	customer      *stripe.Customer
	subscriptions []*stripe.Subscription
}

// knownStanding returns a customer's standing, cached within the operation.
func (g *Gateway) knownStanding(ctx context.Context, customer string) (*standing, error) {
	if known := recall[standing](ctx, customer); known != nil {
		return known, nil
	}
	return g.standing(ctx, customer)
}

// standing reads and caches a customer's standing. The subscriptions include the customer, so that one request suffices
// unless there are none or the customer was deleted.
func (g *Gateway) standing(ctx context.Context, customer string) (*standing, error) {
	subscriptions, err := g.subscriptions(ctx, customer, "data.customer."+shownOfCustomer)
	c := ownerOf(subscriptions)
	if c == nil {
		if errors.Is(err, payments.ErrUnavailable) {
			return nil, err
		}
		var unread error
		if c, unread = g.customer(ctx, customer); unread != nil {
			return nil, unread
		}
		if c.Deleted {
			subscriptions, err = g.subscriptions(ctx, customer)
		}
	}
	if err := unlessDeleted(c, err); err != nil {
		return nil, err
	}
	now := &standing{c, subscriptions}
	remember(ctx, customer, now)
	for _, s := range now.subscriptions {
		remember(ctx, s.ID, s)
	}
	return now, nil
}

// ownerOf returns the customer in subscriptions, or nil.
func ownerOf(subscriptions []*stripe.Subscription) *stripe.Customer {
	if len(subscriptions) == 0 || subscriptions[0].Customer == nil {
		return nil
	}
	if c := subscriptions[0].Customer; c.Object != "" && !c.Deleted {
		return c
	}
	return nil
}

// paying returns the payment method that pays next: the newest running subscription's, or else the customer's.
func paying(c *stripe.Customer, newestFirst []*stripe.Subscription) *stripe.PaymentMethod {
	for _, s := range newestFirst {
		if !hasEnded(s) && s.DefaultPaymentMethod != nil {
			return s.DefaultPaymentMethod
		}
	}
	return cardOfCustomer(c)
}

// invoices returns a customer's invoices, newest first.
func (g *Gateway) invoices(ctx context.Context, customer string) (invoices []payments.Invoice, err error) {
	found, err := g.listInvoices(ctx, customer, "data.payments")
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

// listInvoices returns the newest invoices of a customer, except drafts.
func (g *Gateway) listInvoices(ctx context.Context, customer string, expand ...string) ([]*stripe.Invoice, error) {
	params := &stripe.InvoiceListParams{ListParams: pages, Customer: &customer}
	if len(expand) > 0 {
		params.Expand = stripe.StringSlice(expand)
	}
	return list(ctx, g, g.api.V1Invoices.List(ctx, params), mostInvoices, func(i *stripe.Invoice) bool {
		return i.Status != stripe.InvoiceStatusDraft
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

// addReturned adds refunds and disputes of a customer's charges since a time to the invoices that the charges have
// paid, because invoices do not contain these.
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

// weight determines which of several disputes is shown.
var weight = map[string]int{won: 1, open: 2, lost: 3}

// verdict returns the state of a dispute, or "" if no money is claimed.
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
