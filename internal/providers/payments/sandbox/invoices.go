package sandbox

import (
	"cmp"
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

// invoicePayment connects an invoice with the intent that pays it.
type invoicePayment struct {
	base
	AmountPaid      int64                    `json:"amount_paid"`
	AmountRequested int64                    `json:"amount_requested"`
	Currency        string                   `json:"currency"`
	Invoice         text                     `json:"invoice"`
	IsDefault       bool                     `json:"is_default"`
	Payment         payment                  `json:"payment"`
	Status          string                   `json:"status"` // open, paid or canceled
	Transitions     invoicePaymentTransition `json:"status_transitions"`
}

type payment struct {
	Type          string `json:"type"`
	PaymentIntent text   `json:"payment_intent"`
}

type invoicePaymentTransition struct {
	CanceledAt unix `json:"canceled_at"`
	PaidAt     unix `json:"paid_at"`
}

func (*invoicePayment) kind() string { return "inpay" }

// Owner implements store.Object.
func (p *invoicePayment) Owner() string { return string(p.Invoice) }

func (w *work) newInvoicePayment(i *invoice, p *paymentIntent) (*invoicePayment, error) {
	b, err := w.newBase("inpay", "invoice_payment")
	if err != nil {
		return nil, err
	}
	b.Metadata = nil
	paid := &invoicePayment{
		base: b, AmountRequested: p.Amount, Currency: i.Currency, Invoice: text(i.ID), IsDefault: true,
		Payment: payment{Type: "payment_intent", PaymentIntent: text(p.ID)}, Status: "open",
	}
	return paid, w.save(paid)
}

// invoicePaymentIs sets the status of the payment of an invoice.
func (w *work) invoicePaymentIs(i *invoice, status string) error {
	p, err := find[invoicePayment](w, i.Payment)
	if err != nil {
		return err
	}
	p.Status = status
	if status == "paid" {
		p.AmountPaid, p.Transitions.PaidAt = p.AmountRequested, at(w.now)
		_, err := w.saved(p, "invoice_payment.paid")
		return err
	}
	p.Transitions.CanceledAt = at(w.now)
	return w.save(p)
}

// invoicePaymentsOf returns the payments of an invoice as JSON shows them.
func (w *work) invoicePaymentsOf(id string) (any, error) {
	payments, err := list[invoicePayment](w, id)
	if err != nil {
		return nil, err
	}
	all := newListing("/v1/invoice_payments")
	for _, p := range payments {
		all.Data = append(all.Data, p)
	}
	return w.render(all, nil)
}

func listInvoicePayments(w *work) (any, error) {
	status := w.form.String("status")
	byIntent := w.form.Sub("payment").String("payment_intent")
	w.form.Sub("payment").String("type")
	return page(w, w.form.String("invoice"), func(p *invoicePayment) bool {
		return (status == "" || p.Status == status) && (byIntent == "" || string(p.Payment.PaymentIntent) == byIntent)
	})
}

// invoiceItem is an amount that waits for an invoice, or is on one.
type invoiceItem struct {
	base
	Amount       int64       `json:"amount"`
	Currency     string      `json:"currency"`
	Customer     text        `json:"customer"`
	Date         unix        `json:"date"`
	Description  text        `json:"description"`
	Discountable bool        `json:"discountable"`
	Discounts    []string    `json:"discounts"`
	Invoice      text        `json:"invoice"`
	NetAmount    int64       `json:"net_amount"`
	Parent       *itemParent `json:"parent"`
	Period       period      `json:"period"`
	Pricing      *pricing    `json:"pricing"`
	Proration    bool        `json:"proration"`
	Quantity     int64       `json:"quantity"`
}

type itemParent struct {
	Type                string              `json:"type"`
	SubscriptionDetails subscriptionDetails `json:"subscription_details"`
}

func (*invoiceItem) kind() string { return "ii" }

// Owner implements store.Object.
func (i *invoiceItem) Owner() string { return string(i.Customer) }

// subscription returns the id of the subscription that the item is for, or "".
func (i *invoiceItem) subscription() string {
	if i.Parent == nil {
		return ""
	}
	return string(i.Parent.SubscriptionDetails.Subscription)
}

func subscriptionParent(s *subscription) *itemParent {
	return &itemParent{
		Type:                "subscription_details",
		SubscriptionDetails: subscriptionDetails{Subscription: text(s.ID), Metadata: s.Metadata},
	}
}

func createInvoiceItem(w *work) (any, error) {
	c, err := w.livingCustomer(w.form.Required("customer"))
	if err != nil {
		return nil, err
	}
	b, err := w.newBase("ii", "invoiceitem")
	if err != nil {
		return nil, err
	}
	amount, during := w.form.Int("amount", 0), w.form.Sub("period")
	item := &invoiceItem{
		base: b, Amount: amount, Currency: w.form.Required("currency"), Customer: text(c.ID), Date: at(w.now),
		Description: text(w.form.String("description")), Discountable: w.form.Bool("discountable", true),
		Discounts: []string{}, NetAmount: amount, Quantity: 1,
		Period: period{Start: unix(during.Int("start", w.now.Unix())), End: unix(during.Int("end", w.now.Unix()))},
	}
	if err := w.assign(item); err != nil {
		return nil, err
	}
	return w.saved(item, "invoiceitem.created")
}

// assign sets the subscription and the draft that a new item is for.
func (w *work) assign(item *invoiceItem) error {
	if id := w.form.String("subscription"); id != "" {
		s, err := find[subscription](w, id)
		if err != nil {
			return err
		}
		if s.Customer != item.Customer || s.over() {
			return invalid("", "subscription", "The subscription %s is not one of the customer that goes on.", id)
		}
		item.Parent = subscriptionParent(s)
	}
	id := w.form.String("invoice")
	if id == "" {
		return nil
	}
	i, err := find[invoice](w, id)
	switch {
	case err != nil:
		return err
	case i.Status != "draft" || i.Customer != item.Customer:
		return invalid("invoice_not_editable", "invoice", "The invoice %s is not a draft of the customer.", id)
	}
	if err := w.putOn(i, item); err != nil {
		return err
	}
	if err := w.sum(i); err != nil {
		return err
	}
	return w.update(i, "invoice.updated")
}

func deleteInvoiceItem(w *work) (any, error) {
	item, err := find[invoiceItem](w, w.id)
	if err != nil {
		return nil, err
	}
	if item.Invoice != "" {
		return nil, invalid("", "", "The invoice item is on the invoice %s.", item.Invoice)
	}
	if err := w.emit("invoiceitem.deleted", item); err != nil {
		return nil, err
	}
	return deleted(item.ID, "invoiceitem"), w.tx.Delete(item.ID)
}

func listInvoiceItems(w *work) (any, error) {
	of, pending, created := w.form.String("invoice"), w.form.String("pending"), w.created()
	return page(w, w.form.String("customer"), func(i *invoiceItem) bool {
		return (of == "" || string(i.Invoice) == of) && is(pending, i.Invoice == "") && created(i.Created)
	})
}

// addPending adds to a draft the items of the customer that wait for it.
func (w *work) addPending(i *invoice) error {
	waiting, err := list[invoiceItem](w, string(i.Customer))
	if err != nil {
		return err
	}
	for _, item := range waiting {
		of := item.subscription()
		if item.Invoice != "" || item.Currency != i.Currency || of != "" && of != i.subscription() {
			continue
		}
		if err := w.putOn(i, item); err != nil {
			return err
		}
	}
	return nil
}

// putOn adds an item to a draft.
func (w *work) putOn(i *invoice, item *invoiceItem) error {
	item.Invoice = text(i.ID)
	if err := w.save(item); err != nil {
		return err
	}
	return w.addLine(i, &line{
		Amount: item.Amount, Description: string(item.Description), Discountable: item.Discountable,
		Metadata: item.Metadata, Period: item.Period, Pricing: item.Pricing, Quantity: item.Quantity,
		Parent: lineParent{
			Type: "invoice_item_details",
			InvoiceItemDetails: &lineDetails{
				InvoiceItem: text(item.ID), Proration: item.Proration, Subscription: text(item.subscription()),
			},
		},
	})
}

// lines are the lines of an invoice.
type lines struct {
	Object     string  `json:"object"`
	URL        string  `json:"url"`
	HasMore    bool    `json:"has_more"`
	TotalCount int     `json:"total_count"`
	Data       []*line `json:"data"`
}

type line struct {
	ID              string            `json:"id"`
	Object          string            `json:"object"`
	Amount          int64             `json:"amount"`
	Currency        string            `json:"currency"`
	Description     string            `json:"description"`
	Discountable    bool              `json:"discountable"`
	DiscountAmounts []discountAmount  `json:"discount_amounts"`
	Discounts       []string          `json:"discounts"`
	Invoice         string            `json:"invoice"`
	Livemode        bool              `json:"livemode"`
	Metadata        map[string]string `json:"metadata"`
	Parent          lineParent        `json:"parent"`
	Period          period            `json:"period"`
	Pricing         *pricing          `json:"pricing"`
	Quantity        int64             `json:"quantity"`
	Subtotal        int64             `json:"subtotal"`
}

type lineParent struct {
	Type                    string       `json:"type"`
	InvoiceItemDetails      *lineDetails `json:"invoice_item_details"`
	SubscriptionItemDetails *lineDetails `json:"subscription_item_details"`
}

type lineDetails struct {
	InvoiceItem      text `json:"invoice_item"`
	Proration        bool `json:"proration"`
	Subscription     text `json:"subscription"`
	SubscriptionItem text `json:"subscription_item"`
}

type period struct {
	Start unix `json:"start"`
	End   unix `json:"end"`
}

type pricing struct {
	Type         string       `json:"type"`
	PriceDetails priceDetails `json:"price_details"`
}

type priceDetails struct {
	Price   text `json:"price"`
	Product text `json:"product"`
}

func newLines(invoice string) lines {
	return lines{Object: "list", URL: "/v1/invoices/" + invoice + "/lines", Data: []*line{}}
}

// addLine adds a line to a draft.
func (w *work) addLine(i *invoice, l *line) error {
	id, err := w.tx.NextID("il")
	if err != nil {
		return err
	}
	l.ID, l.Object, l.Invoice, l.Currency = id, "line_item", i.ID, i.Currency
	l.Subtotal, l.DiscountAmounts, l.Discounts = l.Amount, []discountAmount{}, []string{}
	if l.Metadata == nil {
		l.Metadata = map[string]string{}
	}
	i.Lines.Data = append(i.Lines.Data, l)
	i.Lines.TotalCount = len(i.Lines.Data)
	return nil
}

// priceLine returns the line of a subscription's item for a period.
func (w *work) priceLine(s *subscription, during period) (*line, error) {
	item := s.item()
	p, err := find[price](w, string(item.Price))
	if err != nil {
		return nil, err
	}
	of, err := find[product](w, string(p.Product))
	if err != nil {
		return nil, err
	}
	return &line{
		Amount:       p.UnitAmount * item.Quantity,
		Description:  fmt.Sprintf("%d × %s (at $%d.%02d / %s)", item.Quantity, of.Name, p.UnitAmount/100, p.UnitAmount%100, p.Recurring.Interval),
		Discountable: true, Metadata: s.Metadata, Period: during, Quantity: item.Quantity,
		Parent: lineParent{
			Type:                    "subscription_item_details",
			SubscriptionItemDetails: &lineDetails{Subscription: text(s.ID), SubscriptionItem: text(item.ID)},
		},
		Pricing: p.pricing(),
	}, nil
}

func (p *price) pricing() *pricing {
	return &pricing{Type: "price_details", PriceDetails: priceDetails{Price: text(p.ID), Product: p.Product}}
}

func listInvoices(w *work) (any, error) {
	s, status, created := w.form.String("subscription"), w.form.String("status"), w.created()
	return page(w, w.form.String("customer"), func(i *invoice) bool {
		return (s == "" || i.subscription() == s) && (status == "" || i.Status == status) && created(i.Created)
	})
}

func createInvoice(w *work) (any, error) {
	c, err := w.livingCustomer(w.form.Required("customer"))
	if err != nil {
		return nil, err
	}
	var s *subscription
	if id := w.form.String("subscription"); id != "" {
		if s, err = find[subscription](w, id); err != nil {
			return nil, err
		}
	}
	w.form.Enum("collection_method", "charge_automatically")
	i, err := w.newInvoice(c.ID, cmp.Or(w.form.String("currency"), string(c.Currency), "usd"), reasonManual, s)
	if err != nil {
		return nil, err
	}
	i.Metadata, i.Description = w.metadata(), text(w.form.String("description"))
	if i.AutoAdvance = w.form.Bool("auto_advance", false); i.AutoAdvance {
		i.AutomaticallyFinalizesAt = at(w.now.Add(draftFor))
	}
	if w.form.Enum("pending_invoice_items_behavior", "exclude", "include") == "include" {
		if err := w.addPending(i); err != nil {
			return nil, err
		}
	}
	if err := w.sum(i); err != nil {
		return nil, err
	}
	return w.saved(i, "invoice.created")
}

func finalizeInvoice(w *work) (any, error) {
	i, err := find[invoice](w, w.id)
	if err != nil {
		return nil, err
	}
	i.AutoAdvance = w.form.Bool("auto_advance", i.AutoAdvance)
	if i.Status != "draft" {
		return nil, invalid("invoice_not_editable", "", "This invoice is already finalized, you can't re-finalize a non-draft invoice.")
	}
	if err := w.finalize(i); err != nil {
		return nil, err
	}
	return find[invoice](w, i.ID)
}

func payInvoice(w *work) (any, error) {
	i, err := find[invoice](w, w.id)
	if err != nil {
		return nil, err
	}
	if i.Status == "draft" {
		if err := w.finalize(i); err != nil {
			return nil, err
		}
	}
	if i, err = find[invoice](w, i.ID); err != nil {
		return nil, err
	}
	if i.Status != "open" && i.Status != "uncollectible" {
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
	return find[invoice](w, i.ID)
}

func voidInvoice(w *work) (any, error) {
	i, err := find[invoice](w, w.id)
	if err != nil {
		return nil, err
	}
	if i.Status != "open" && i.Status != "uncollectible" {
		return nil, invalid("", "", "You can only pass in open or uncollectible invoices. This invoice is %s.", i.Status)
	}
	if err := w.void(i); err != nil {
		return nil, err
	}
	if err := w.firstInvoiceVoided(i); err != nil {
		return nil, err
	}
	return i, nil
}

func markUncollectible(w *work) (any, error) {
	i, err := find[invoice](w, w.id)
	if err != nil {
		return nil, err
	}
	if i.Status != "open" {
		return nil, invalid("", "", "You can only mark open invoices as uncollectible. This invoice is %s.", i.Status)
	}
	i.Status, i.StatusTransitions.MarkedUncollectibleAt, i.NextPaymentAttempt = "uncollectible", at(w.now), 0
	return w.saved(i, "invoice.marked_uncollectible")
}
