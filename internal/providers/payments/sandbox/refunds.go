package sandbox

import "cmp"

// refund is money that goes back.
type refund struct {
	base
	Amount        int64  `json:"amount"`
	Charge        text   `json:"charge"`
	Currency      string `json:"currency"`
	PaymentIntent text   `json:"payment_intent"`
	Reason        text   `json:"reason"`
	Status        string `json:"status"`
	Customer      string `json:"sandbox_customer"`
}

func (*refund) kind() string { return "re" }

// Owner implements store.Object.
func (r *refund) Owner() string { return r.Customer }

func createRefund(w *work) (any, error) {
	id := w.form.String("charge")
	if intent := w.form.String("payment_intent"); id == "" && intent != "" {
		p, err := find[paymentIntent](w, intent)
		if err != nil {
			return nil, err
		}
		id = string(p.LatestCharge)
	}
	if id == "" {
		return nil, invalid("parameter_missing", "charge", "One of the following params should be provided for this request: payment_intent or charge.")
	}
	reason := w.form.Enum("reason", "", "duplicate", "fraudulent", "requested_by_customer")
	return w.giveBack(id, w.form.Int("amount", 0), reason)
}

// giveBack refunds an amount of a charge; 0 means what is left of it.
func (w *work) giveBack(id string, amount int64, reason string) (any, error) {
	c, err := find[charge](w, id)
	if err != nil {
		return nil, err
	}
	left := c.AmountCaptured - c.AmountRefunded
	amount = cmp.Or(amount, left)
	switch {
	case left == 0 && c.Paid:
		return nil, invalid("charge_already_refunded", "", "Charge %s has already been refunded.", id)
	case amount < 0 || amount > left:
		return nil, invalid("", "amount", "Refund amount (%d) is greater than unrefunded amount on charge (%d)", amount, left)
	}
	b, err := w.newBase("re", "refund")
	if err != nil {
		return nil, err
	}
	r := &refund{
		base: b, Amount: amount, Charge: text(c.ID), Currency: c.Currency, PaymentIntent: c.PaymentIntent,
		Reason: text(reason), Status: succeeded, Customer: string(c.Customer),
	}
	c.AmountRefunded += amount
	c.Refunded = c.AmountRefunded == c.Amount
	if err := w.save(r); err != nil {
		return nil, err
	}
	if err := w.update(c, "charge.refunded"); err != nil {
		return nil, err
	}
	return r, w.emit("refund.created", r)
}

func listRefunds(w *work) (any, error) {
	chargeID, intent, created := w.form.String("charge"), w.form.String("payment_intent"), w.created()
	return page(w, "", func(r *refund) bool {
		return (chargeID == "" || string(r.Charge) == chargeID) &&
			(intent == "" || string(r.PaymentIntent) == intent) && created(r.Created)
	})
}
