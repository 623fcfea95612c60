package sandbox

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
