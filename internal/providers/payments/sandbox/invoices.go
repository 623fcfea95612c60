package sandbox

import (
	"fmt"
	"time"
)

// invoice is what a customer owes.
type invoice struct {
	base
	AmountDue                int64             `json:"amount_due"`
	AmountPaid               int64             `json:"amount_paid"`
	AmountRemaining          int64             `json:"amount_remaining"`
	AttemptCount             int64             `json:"attempt_count"`
	Attempted                bool              `json:"attempted"`
	AutoAdvance              bool              `json:"auto_advance"`
	AutomaticallyFinalizesAt unix              `json:"automatically_finalizes_at"`
	BillingReason            string            `json:"billing_reason"`
	CollectionMethod         string            `json:"collection_method"`
	Currency                 string            `json:"currency"`
	Customer                 text              `json:"customer"`
	DefaultPaymentMethod     text              `json:"default_payment_method"`
	Description              text              `json:"description"`
	Discounts                []string          `json:"discounts"`
	EndingBalance            int64             `json:"ending_balance"`
	Lines                    lines             `json:"lines"`
	NextPaymentAttempt       unix              `json:"next_payment_attempt"`
	Number                   text              `json:"number"`
	Parent                   *invoiceParent    `json:"parent"`
	PeriodEnd                unix              `json:"period_end"`
	PeriodStart              unix              `json:"period_start"`
	StartingBalance          int64             `json:"starting_balance"`
	Status                   string            `json:"status"`
	StatusTransitions        statusTransitions `json:"status_transitions"`
	Subtotal                 int64             `json:"subtotal"`
	Total                    int64             `json:"total"`
	TotalDiscountAmounts     []discountAmount  `json:"total_discount_amounts"`
	Retries                  int               `json:"sandbox_retries,omitempty"` // that were planned
	PaymentIntent            string            `json:"sandbox_payment_intent,omitempty"`
	Payment                  string            `json:"sandbox_payment,omitempty"`
}

type invoiceParent struct {
	Type                string              `json:"type"`
	SubscriptionDetails subscriptionDetails `json:"subscription_details"`
}

type subscriptionDetails struct {
	Metadata     map[string]string `json:"metadata"`
	Subscription text              `json:"subscription"`
}

type statusTransitions struct {
	FinalizedAt           unix `json:"finalized_at"`
	MarkedUncollectibleAt unix `json:"marked_uncollectible_at"`
	PaidAt                unix `json:"paid_at"`
	VoidedAt              unix `json:"voided_at"`
}

type discountAmount struct {
	Amount   int64 `json:"amount"`
	Discount text  `json:"discount"`
}

// Why there is an invoice.
const (
	reasonCreate = "subscription_create"
	reasonCycle  = "subscription_cycle"
	reasonUpdate = "subscription_update"
	reasonManual = "manual"
)

func (*invoice) kind() string { return "in" }

// Owner implements store.Object.
func (i *invoice) Owner() string { return string(i.Customer) }

// Due implements store.Object.
func (i *invoice) Due() time.Time {
	switch i.Status {
	case "draft":
		return i.AutomaticallyFinalizesAt.time()
	case "open":
		return i.NextPaymentAttempt.time()
	}
	return time.Time{}
}

// subscription returns the id of the subscription that the invoice is for, or "".
func (i *invoice) subscription() string {
	if i.Parent == nil {
		return ""
	}
	return string(i.Parent.SubscriptionDetails.Subscription)
}

func (i *invoice) purpose() string {
	switch i.BillingReason {
	case reasonCreate:
		return "Subscription creation"
	case reasonManual:
		return "Invoice"
	}
	return "Subscription update"
}

// newInvoice returns a draft of an invoice of a customer, for a subscription or, if it is nil, for none.
func (w *work) newInvoice(owner, currency, reason string, s *subscription) (*invoice, error) {
	b, err := w.newBase("in", "invoice")
	if err != nil {
		return nil, err
	}
	b.Metadata = map[string]string{}
	i := &invoice{
		base: b, AutoAdvance: true, BillingReason: reason, CollectionMethod: "charge_automatically",
		Currency: currency, Customer: text(owner), Discounts: []string{}, Lines: newLines(b.ID),
		PeriodStart: at(w.now), PeriodEnd: at(w.now), Status: "draft", TotalDiscountAmounts: []discountAmount{},
	}
	if s != nil {
		i.Parent = &invoiceParent{
			Type:                "subscription_details",
			SubscriptionDetails: subscriptionDetails{Subscription: text(s.ID), Metadata: s.Metadata},
		}
	}
	return i, nil
}

// discount takes an amount off a draft.
func (i *invoice) discount(amount int64, by text) {
	if amount == 0 {
		return
	}
	i.Discounts = []string{string(by)}
	i.TotalDiscountAmounts = []discountAmount{{Amount: amount, Discount: by}}
}

// sum adds up a draft, and uses the customer's balance.
func (w *work) sum(i *invoice) error {
	c, err := find[customer](w, string(i.Customer))
	if err != nil {
		return err
	}
	i.Subtotal = 0
	for _, l := range i.Lines.Data {
		i.Subtotal += l.Amount
	}
	i.Total = i.Subtotal
	for _, d := range i.TotalDiscountAmounts {
		i.Total -= d.Amount
	}
	i.StartingBalance = c.Balance
	i.AmountDue = max(0, i.Total+c.Balance)
	i.EndingBalance = min(0, i.Total+c.Balance)
	i.AmountRemaining = i.AmountDue
	return nil
}

// finalize makes a draft an invoice that is to be paid, and settles it if nothing is due.
func (w *work) finalize(i *invoice) error {
	if err := w.sum(i); err != nil { // the balance may have changed
		return err
	}
	c, err := find[customer](w, string(i.Customer))
	if err != nil {
		return err
	}
	i.Number = text(fmt.Sprintf("%s-%04d", c.InvoicePrefix, c.NextInvoice))
	i.Status, i.StatusTransitions.FinalizedAt, i.AutomaticallyFinalizesAt = "open", at(w.now), 0
	c.NextInvoice++
	c.Balance = i.EndingBalance
	if err := w.save(c); err != nil {
		return err
	}
	if i.AmountRemaining > 0 {
		if err := w.demand(i); err != nil {
			return err
		}
	}
	if _, err := w.saved(i, "invoice.finalized"); err != nil || i.AmountRemaining > 0 {
		return err
	}
	return w.invoicePaid(i.ID, nil, nil)
}

// demand makes the payment of an invoice.
func (w *work) demand(i *invoice) error {
	p, err := w.newIntent(i)
	if err != nil {
		return err
	}
	i.PaymentIntent = p.ID
	payment, err := w.newInvoicePayment(i, p)
	if err != nil {
		return err
	}
	i.Payment = payment.ID
	return nil
}

func (w *work) confirmationSecret(id string) (any, error) {
	i, err := find[invoice](w, id)
	if err != nil || i.PaymentIntent == "" || i.Status != "open" {
		return nil, err
	}
	p, err := find[paymentIntent](w, i.PaymentIntent)
	if err != nil {
		return nil, err
	}
	return map[string]any{"client_secret": p.ClientSecret, "type": "payment_intent"}, nil
}

// invoicePaid marks an invoice as paid: with an intent and a method, or with none if nothing was due.
func (w *work) invoicePaid(id string, p *paymentIntent, m *paymentMethod) error {
	i, err := find[invoice](w, id)
	if err != nil {
		return err
	}
	i.Status, i.StatusTransitions.PaidAt, i.NextPaymentAttempt = "paid", at(w.now), 0
	i.Attempted, i.AmountPaid, i.AmountRemaining = true, i.AmountDue, 0
	if p != nil {
		i.AttemptCount++
		if err := w.invoicePaymentIs(i, "paid"); err != nil {
			return err
		}
	}
	for _, kind := range []string{"invoice.paid", "invoice.payment_succeeded"} {
		if _, err := w.saved(i, kind); err != nil {
			return err
		}
	}
	if i.subscription() == "" {
		return nil
	}
	return w.subscriptionPaid(i, m)
}

// invoiceFailed notes an attempt that was declined.
func (w *work) invoiceFailed(p *paymentIntent, refusal *problem) error {
	i, err := find[invoice](w, p.Invoice)
	if err != nil {
		return err
	}
	i.Attempted = true
	i.AttemptCount++
	if _, err := w.saved(i, "invoice.payment_failed"); err != nil {
		return err
	}
	if refusal.Code == "authentication_required" {
		if err := w.emit("invoice.payment_action_required", i); err != nil {
			return err
		}
	}
	return w.subscriptionUnpaid(i)
}

func (w *work) invoiceNeedsAction(p *paymentIntent) error {
	i, err := find[invoice](w, p.Invoice)
	if err != nil {
		return err
	}
	return w.emit("invoice.payment_action_required", i)
}

// void gives up an invoice.
func (w *work) void(i *invoice) error {
	i.Status, i.StatusTransitions.VoidedAt, i.NextPaymentAttempt = "void", at(w.now), 0
	if i.PaymentIntent != "" {
		if err := w.abandon(i.PaymentIntent); err != nil {
			return err
		}
		if err := w.invoicePaymentIs(i, "canceled"); err != nil {
			return err
		}
	}
	_, err := w.saved(i, "invoice.voided")
	return err
}
