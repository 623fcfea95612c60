package sandbox

// charge is an attempt to take money from a card.
type charge struct {
	base
	Amount         int64          `json:"amount"`
	AmountCaptured int64          `json:"amount_captured"`
	AmountRefunded int64          `json:"amount_refunded"`
	BillingDetails billingDetails `json:"billing_details"`
	Captured       bool           `json:"captured"`
	Currency       string         `json:"currency"`
	Customer       text           `json:"customer"`
	Description    text           `json:"description"`
	Disputed       bool           `json:"disputed"`
	FailureCode    text           `json:"failure_code"`
	FailureMessage text           `json:"failure_message"`
	Paid           bool           `json:"paid"`
	PaymentIntent  text           `json:"payment_intent"`
	PaymentMethod  text           `json:"payment_method"`
	Refunded       bool           `json:"refunded"`
	Status         string         `json:"status"`
}

func (*charge) kind() string { return "ch" }

// Owner implements store.Object.
func (c *charge) Owner() string { return string(c.Customer) }

// newCharge makes the charge of a payment that was declined or not.
func (w *work) newCharge(p *paymentIntent, m *paymentMethod, refusal *problem) (*charge, error) {
	b, err := w.newBase("ch", "charge")
	if err != nil {
		return nil, err
	}
	b.Metadata = map[string]string{}
	c := &charge{
		base: b, Amount: p.Amount, Currency: p.Currency, Customer: p.Customer, Description: p.Description,
		PaymentIntent: text(p.ID), PaymentMethod: text(m.ID),
	}
	if refusal != nil {
		c.Status, c.FailureCode, c.FailureMessage = "failed", text(refusal.Code), text(refusal.Message)
		_, err = w.saved(c, "charge.failed")
		return c, err
	}
	c.Status, c.AmountCaptured, c.Captured, c.Paid = succeeded, p.Amount, true, true
	_, err = w.saved(c, "charge.succeeded")
	return c, err
}

func listCharges(w *work) (any, error) {
	intent, created := w.form.String("payment_intent"), w.created()
	return page(w, w.form.String("customer"), func(c *charge) bool {
		return (intent == "" || string(c.PaymentIntent) == intent) && created(c.Created)
	})
}
