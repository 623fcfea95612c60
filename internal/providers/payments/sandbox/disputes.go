package sandbox

// dispute is a charge that the card's owner does not accept.
type dispute struct {
	base
	Amount             int64  `json:"amount"`
	Charge             text   `json:"charge"`
	Currency           string `json:"currency"`
	IsChargeRefundable bool   `json:"is_charge_refundable"`
	PaymentIntent      text   `json:"payment_intent"`
	Reason             string `json:"reason"`
	Status             string `json:"status"`
	Customer           string `json:"sandbox_customer"`
}

func (*dispute) kind() string { return "du" }

// Owner implements store.Object.
func (d *dispute) Owner() string { return d.Customer }

// dispute disputes a charge.
func (w *work) dispute(chargeID string) (*dispute, error) {
	c, err := find[charge](w, chargeID)
	if err != nil {
		return nil, err
	}
	if !c.Paid || c.Disputed {
		return nil, invalid("", "charge", "The charge %s cannot be disputed.", c.ID)
	}
	b, err := w.newBase("du", "dispute")
	if err != nil {
		return nil, err
	}
	b.Metadata = map[string]string{}
	d := &dispute{
		base: b, Amount: c.Amount, Charge: text(c.ID), Currency: c.Currency, PaymentIntent: c.PaymentIntent,
		Reason: "fraudulent", Status: "needs_response", Customer: string(c.Customer),
	}
	c.Disputed = true
	if err := w.save(c); err != nil {
		return nil, err
	}
	_, err = w.saved(d, "charge.dispute.created")
	return d, err
}

// closeDispute ends a dispute: won, or lost.
func (w *work) closeDispute(id string, won bool) (*dispute, error) {
	d, err := find[dispute](w, id)
	if err != nil {
		return nil, err
	}
	if d.Status == "won" || d.Status == "lost" {
		return nil, invalid("", "", "The dispute %s is closed.", id)
	}
	d.Status = "lost"
	if won {
		d.Status = "won"
	}
	_, err = w.saved(d, "charge.dispute.closed")
	return d, err
}

func listDisputes(w *work) (any, error) {
	chargeID, intent, created := w.form.String("charge"), w.form.String("payment_intent"), w.created()
	return page(w, "", func(d *dispute) bool {
		return (chargeID == "" || string(d.Charge) == chargeID) &&
			(intent == "" || string(d.PaymentIntent) == intent) && created(d.Created)
	})
}
