package sandbox

import (
	"cmp"
	"fmt"
	"time"
)

// invoice is a bill of a customer.
type invoice struct {
	base
	AmountDue                int64          `json:"amount_due"`
	AmountPaid               int64          `json:"amount_paid"`
	AmountRemaining          int64          `json:"amount_remaining"`
	AttemptCount             int64          `json:"attempt_count"`
	Attempted                bool           `json:"attempted"`
	AutoAdvance              bool           `json:"auto_advance"`
	AutomaticallyFinalizesAt unix           `json:"automatically_finalizes_at"`
	BillingReason            string         `json:"billing_reason"`
	Currency                 string         `json:"currency"`
	Customer                 text           `json:"customer"`
	DefaultPaymentMethod     text           `json:"default_payment_method"` // "": the subscription's or customer's
	Lines                    inner[*line]   `json:"lines"`
	NextPaymentAttempt       unix           `json:"next_payment_attempt"`
	Number                   text           `json:"number"`
	Parent                   *invoiceParent `json:"parent"`
	Status                   string         `json:"status"`
	Total                    int64          `json:"total"`
	Discount                 int64          `json:"sandbox_discount,omitempty"`
	Retries                  int            `json:"sandbox_retries,omitempty"` // planned attempts
	Pending                  bool           `json:"sandbox_pending,omitempty"` // a pending update waits for its payment
	PaymentIntent            string         `json:"sandbox_payment_intent,omitempty"`
}

type invoiceParent struct {
	Type                string              `json:"type"`
	SubscriptionDetails subscriptionDetails `json:"subscription_details"`
}

type subscriptionDetails struct {
	Subscription text `json:"subscription"`
}

type line struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Amount      int64  `json:"amount"`
	Currency    string `json:"currency"`
	Description string `json:"description"`
	Period      period `json:"period"`
}

type period struct {
	Start unix `json:"start"`
	End   unix `json:"end"`
}

// Billing reasons.
const (
	reasonCreate = "subscription_create"
	reasonCycle  = "subscription_cycle"
	reasonUpdate = "subscription_update"
	reasonManual = "manual"
)

func (*invoice) kind() string    { return "in" }
func (i *invoice) owner() string { return string(i.Customer) }

func (i *invoice) dueAt() time.Time {
	switch i.Status {
	case "draft":
		return i.AutomaticallyFinalizesAt.time()
	case "open":
		return i.NextPaymentAttempt.time()
	}
	return time.Time{}
}

// subscription returns the id of the invoice's subscription, or "".
func (i *invoice) subscription() string {
	if i.Parent == nil {
		return ""
	}
	return string(i.Parent.SubscriptionDetails.Subscription)
}

func (i *invoice) purpose() string {
	special := map[string]string{reasonCreate: "Subscription creation", reasonManual: "Invoice"}
	return cmp.Or(special[i.BillingReason], "Subscription update")
}

// newInvoice returns a draft for a customer. s may be nil.
func (w *work) newInvoice(owner, currency, reason string, s *subscription) *invoice {
	i := &invoice{
		base: w.newBase("in", "invoice"), AutoAdvance: true, BillingReason: reason, Currency: currency, Customer: text(owner),
		Lines: inner[*line]{"list", []*line{}}, Status: "draft",
	}
	if s != nil {
		i.Metadata = map[string]string{}
		i.Parent = &invoiceParent{Type: "subscription_details", SubscriptionDetails: subscriptionDetails{text(s.ID)}}
	}
	return i
}

func (w *work) addLine(i *invoice, amount int64, description string, during period) {
	i.Lines.Data = append(i.Lines.Data, &line{
		ID: w.tx.nextID("il"), Object: "line_item", Amount: amount, Currency: i.Currency, Description: description,
		Period: during,
	})
}

// sum computes a draft's amounts, using the customer's balance. It returns the remaining balance.
func (w *work) sum(i *invoice) (balance int64) {
	i.Total = -i.Discount
	for _, l := range i.Lines.Data {
		i.Total += l.Amount
	}
	due := i.Total + get[customer](w, i.Customer).Balance
	i.AmountDue = due
	if due < minima[i.Currency] {
		i.AmountDue, balance = 0, due
	}
	i.AmountRemaining = i.AmountDue
	return balance
}

// minima are the smallest amounts that Stripe charges. Smaller amounts go to the customer's balance.
var minima = map[string]int64{"eur": 50, "gbp": 30, "jpy": 50, "usd": 50}

// finalize opens a draft for payment, and marks it as paid if nothing is due.
func (w *work) finalize(i *invoice) {
	balance := w.sum(i) // the balance may have changed since the draft
	c := get[customer](w, i.Customer)
	i.Number = text(fmt.Sprintf("R%s-%04d", c.ID[len(c.ID)-6:], c.NextInvoice))
	i.Status, i.AutomaticallyFinalizesAt = "open", 0
	c.NextInvoice++
	c.Balance = balance
	w.save(c)
	if i.AmountRemaining > 0 {
		i.PaymentIntent = w.newIntent(i).ID
		w.save(w.newInvoicePayment(i))
	}
	w.update(i, "invoice.finalized")
	if i.AmountRemaining == 0 {
		w.invoicePaid(i.ID, nil)
	}
}

func (w *work) confirmationSecret(i *invoice) any {
	if i.PaymentIntent == "" || i.Status != "open" {
		return nil
	}
	return map[string]any{"client_secret": get[paymentIntent](w, i.PaymentIntent).ClientSecret, "type": "payment_intent"}
}

// invoicePaid marks an invoice as paid. The payment method is nil if nothing was due.
func (w *work) invoicePaid(id string, m *paymentMethod) {
	i := get[invoice](w, id)
	i.Status, i.NextPaymentAttempt = "paid", 0
	i.Attempted, i.AmountPaid, i.AmountRemaining = true, i.AmountDue, 0
	if m != nil {
		i.AttemptCount++
		w.endInvoicePayments(i, "paid")
	}
	w.update(i, "invoice.paid")
	w.emit("invoice.payment_succeeded", i)
	if i.subscription() != "" {
		w.subscriptionPaid(i, m)
	}
}

// invoiceFailed records a declined attempt to pay.
func (w *work) invoiceFailed(i *invoice, refusal *problem) {
	i.Attempted = true
	i.AttemptCount++
	w.update(i, "invoice.payment_failed")
	if refusal.Code == authenticationRequired {
		w.emit("invoice.payment_action_required", i)
	}
	if i.subscription() == "" || i.Pending {
		return
	}
	if s := get[subscription](w, i.subscription()); s.Status == "active" {
		s.Status = "past_due"
		w.update(s, "customer.subscription.updated")
	}
}

// void voids an invoice.
func (w *work) void(i *invoice) {
	i.Status, i.NextPaymentAttempt = "void", 0
	if i.PaymentIntent != "" {
		w.abandon(get[paymentIntent](w, i.PaymentIntent))
		w.endInvoicePayments(i, canceled)
	}
	w.update(i, "invoice.voided")
	if i.Pending {
		w.dropPending(get[subscription](w, i.subscription()))
	}
}

// draftFor is the time before Stripe finalizes the draft of a renewal.
const draftFor = time.Hour

func createInvoice(w *work, c *customer) (any, error) {
	w.form.Enum("collection_method", "charge_automatically")
	w.form.Enum("pending_invoice_items_behavior", "include")
	i := w.newInvoice(c.ID, cmp.Or(w.form.String("currency"), string(c.Currency), "usd"), reasonManual, nil)
	if i.AutoAdvance = w.form.Bool("auto_advance", false); i.AutoAdvance {
		i.AutomaticallyFinalizesAt = at(w.now.Add(draftFor))
	}
	if err := w.setMethod(w.form, c.ID, &i.DefaultPaymentMethod); err != nil {
		return nil, err
	}
	w.addPending(i)
	w.sum(i)
	return w.saved(i, "invoice.created"), nil
}

// matchInvoices returns the filter for a list of invoices.
func matchInvoices(w *work) func(*invoice) bool {
	status, of := w.form.String("status"), w.form.String("subscription")
	return func(i *invoice) bool {
		return (status == "" || i.Status == status) && (of == "" || i.subscription() == of)
	}
}

func finalizeInvoice(w *work, i *invoice) (any, error) {
	if i.Status != "draft" {
		return nil, invalid("", "", "This invoice is already finalized, you can't re-finalize a non-draft invoice.")
	}
	i.AutoAdvance = w.form.Bool("auto_advance", i.AutoAdvance)
	w.finalize(i)
	return get[invoice](w, i.ID), nil
}

func markUncollectible(w *work, i *invoice) (any, error) {
	if i.Status != "open" {
		return nil, invalid("", "", "You can only mark open invoices as uncollectible, this invoice is %s.", i.Status)
	}
	i.Status, i.AutoAdvance, i.NextPaymentAttempt = "uncollectible", false, 0
	return w.saved(i, "invoice.marked_uncollectible"), nil
}

func payInvoice(w *work, i *invoice) (any, error) {
	if i.Status != "open" {
		return nil, invalid("", "", "Invoice is already %s", i.Status)
	}
	w.form.Bool("off_session", true)
	refusal, err := w.collect(i, w.form.String("payment_method"))
	switch {
	case err != nil:
		return nil, err
	case refusal != nil:
		return refusal, nil
	}
	return get[invoice](w, i.ID), nil
}

func voidInvoice(w *work, i *invoice) (any, error) {
	if i.Status != "open" {
		return nil, invalid("", "", "You can only pass in open invoices. This invoice isn't open.")
	}
	w.void(i)
	return i, nil
}

// invoicePayment connects an invoice with its payment intent.
type invoicePayment struct {
	base
	Invoice text    `json:"invoice"`
	Payment payment `json:"payment"`
	Status  string  `json:"status"` // open, paid or canceled
}

type payment struct {
	Type          string `json:"type"`
	PaymentIntent text   `json:"payment_intent"`
}

func (*invoicePayment) kind() string    { return "inpay" }
func (p *invoicePayment) owner() string { return string(p.Invoice) }

func (w *work) newInvoicePayment(i *invoice) *invoicePayment {
	return &invoicePayment{
		base: w.bareBase("inpay", "invoice_payment"), Invoice: text(i.ID), Status: "open",
		Payment: payment{"payment_intent", text(i.PaymentIntent)},
	}
}

// endInvoicePayments sets the final status of an invoice's payments.
func (w *work) endInvoicePayments(i *invoice, status string) {
	for _, p := range list[invoicePayment](w, i.ID) {
		p.Status = status
		w.save(p)
		if status == "paid" {
			w.emit("invoice_payment.paid", p)
		}
	}
}

// invoiceItem is an amount for an invoice.
type invoiceItem struct {
	base
	Amount       int64  `json:"amount"`
	Currency     string `json:"currency"`
	Customer     text   `json:"customer"`
	Description  string `json:"description"`
	Invoice      text   `json:"invoice"`
	Period       period `json:"period"`
	Subscription string `json:"sandbox_subscription,omitempty"` // only for invoices of this subscription; "" for any
}

func (*invoiceItem) kind() string    { return "ii" }
func (i *invoiceItem) owner() string { return string(i.Customer) }

func createInvoiceItem(w *work, c *customer) (any, error) {
	item := &invoiceItem{
		base: w.newBase("ii", "invoiceitem"), Amount: w.form.Int("amount", 0), Currency: w.form.Required("currency"),
		Customer: text(c.ID), Description: w.form.String("description"), Period: period{at(w.now), at(w.now)},
		Subscription: w.form.String("subscription"),
	}
	if item.Subscription != "" {
		s, err := find[subscription](w, item.Subscription)
		if err != nil {
			return nil, err
		}
		if s.Customer != item.Customer || s.ended() {
			return nil, invalid("", "subscription", "The subscription %s has ended, or belongs to another customer.", s.ID)
		}
	}
	if id := w.form.String("invoice"); id != "" {
		if err := w.addToDraft(item, id); err != nil {
			return nil, err
		}
	}
	return w.saved(item, "invoiceitem.created"), nil
}

// matchItems returns the filter for a list of invoice items.
func matchItems(w *work) func(*invoiceItem) bool {
	pending := w.form.Bool("pending", false)
	return func(i *invoiceItem) bool { return !pending || i.Invoice == "" }
}

func deleteInvoiceItem(w *work, i *invoiceItem) (any, error) {
	if i.Invoice != "" {
		return nil, invalid("", "", "The invoice item %s is on an invoice, and can no longer be deleted.", i.ID)
	}
	w.tx.delete(i.ID)
	w.emit("invoiceitem.deleted", i)
	return i.remains(), nil
}

// addToDraft adds an item to a draft.
func (w *work) addToDraft(item *invoiceItem, id string) error {
	i, err := find[invoice](w, id)
	switch {
	case err != nil:
		return err
	case i.Customer != item.Customer || i.Currency != item.Currency:
		return invalid("", "invoice", "The invoice %s belongs to another customer, or is not in %s.", i.ID, item.Currency)
	case i.Status != "draft":
		return invalid("invoice_not_editable", "invoice", "Invoice %s is already finalized, so items cannot be added to it.",
			i.ID)
	}
	item.Invoice = text(i.ID)
	w.addLine(i, item.Amount, item.Description, item.Period)
	w.sum(i)
	w.update(i, "invoice.updated")
	return nil
}

// addPending adds the customer's pending items to a draft.
func (w *work) addPending(i *invoice) {
	for _, item := range list[invoiceItem](w, string(i.Customer)) {
		if item.Invoice != "" || item.Currency != i.Currency || item.Subscription != "" &&
			item.Subscription != i.subscription() {
			continue
		}
		item.Invoice = text(i.ID)
		w.save(item)
		w.addLine(i, item.Amount, item.Description, item.Period)
	}
}
