package sandbox

import (
	"cmp"
	"crypto/rand"
	"strings"
	"time"
)

// intent is a payment or the registration of a card. The card's owner confirms it on a page.
type intent interface {
	object
	state() *intentState
	attempt(*work, *paymentMethod) (*problem, error) // returns the decline, if any
	succeed(*work, *paymentMethod) error
	fail(*work, *problem)
}

// intentState holds the fields of all intents.
type intentState struct {
	ClientSecret  string `json:"client_secret"`
	Customer      text   `json:"customer"`
	PaymentMethod text   `json:"payment_method"`
	Status        string `json:"status"`
}

func (s *intentState) state() *intentState { return s }

// newState returns the state of a new intent. Its secret allows a client to confirm it. It is short, so that the
// address of its page fits a line of recitalctl's table.
func newState(id string, owner text) intentState {
	return intentState{ClientSecret: id + "_secret_" + rand.Text()[:20], Customer: owner, Status: needsMethod}
}

// paymentIntent is an amount to be paid.
type paymentIntent struct {
	base
	intentState
	Amount           int64    `json:"amount"`
	Currency         string   `json:"currency"`
	Description      string   `json:"description"`
	LastPaymentError *problem `json:"last_payment_error"`
	LatestCharge     text     `json:"latest_charge"`
	Invoice          string   `json:"sandbox_invoice"`
	First            bool     `json:"sandbox_first"` // of a subscription: its card also pays later
}

const (
	needsMethod = "requires_payment_method"
	needsAction = "requires_action"
	succeeded   = "succeeded"
	canceled    = "canceled"

	authenticationRequired = "authentication_required"
)

func (*paymentIntent) kind() string    { return "pi" }
func (p *paymentIntent) owner() string { return string(p.Customer) }

// newIntent creates the payment intent of an invoice.
func (w *work) newIntent(i *invoice) *paymentIntent {
	b := w.bareBase("pi", "payment_intent")
	p := &paymentIntent{
		base: b, intentState: newState(b.ID, i.Customer), Amount: i.AmountRemaining, Currency: i.Currency,
		Description: i.purpose(), Invoice: i.ID, First: i.BillingReason == reasonCreate,
	}
	w.update(p, "payment_intent.created")
	return p
}

// intentOf returns the intent with this client secret.
func (w *work) intentOf(clientSecret string) (i intent, err error) {
	id, _, _ := strings.Cut(clientSecret, "_secret_")
	if kindOf(id) == "seti" {
		i, err = find[setupIntent](w, id)
	} else {
		i, err = find[paymentIntent](w, id)
	}
	if err == nil && i.state().ClientSecret != clientSecret {
		err = w.missing(kindOf(id), id)
	}
	return i, err
}

// confirm pays with a card, or registers it. The problem is the decline, if any.
func (w *work) confirm(clientSecret, method string) (*problem, error) {
	i, err := w.intentOf(clientSecret)
	if err != nil {
		return nil, err
	}
	s := i.state()
	if s.Status != needsMethod && s.Status != needsAction {
		return nil, invalid("", "", "This intent has a status of %s.", s.Status)
	}
	m, err := w.method(method, string(s.Customer))
	if err != nil {
		return nil, err
	}
	return i.attempt(w, m)
}

// authenticate records the answer of the card's owner to the bank's request for authentication.
func (w *work) authenticate(clientSecret string, approved bool) (*problem, error) {
	i, err := w.intentOf(clientSecret)
	switch {
	case err != nil:
		return nil, err
	case i.state().Status != needsAction:
		return nil, invalid("", "", "This intent does not wait for a confirmation.")
	case approved:
		return nil, i.succeed(w, get[paymentMethod](w, i.state().PaymentMethod))
	}
	refusal := declined("authentication_failure", "", "The provided PaymentMethod has failed authentication.")
	i.fail(w, refusal)
	return refusal, nil
}

func (p *paymentIntent) attempt(w *work, m *paymentMethod) (*problem, error) {
	return w.pay(p, m, true)
}

// pay attempts to pay an intent with a payment method, and settles the invoice. present is whether the card's owner can
// confirm the payment. The problem is the decline, if any.
func (w *work) pay(p *paymentIntent, m *paymentMethod, present bool) (*problem, error) {
	card := m.card()
	refusal := card.refusal()
	if w.faults.failsNext(string(p.Customer)) {
		refusal = declined("card_declined", "generic_decline", "Your card was declined.")
	}
	if refusal == nil && (card.confirm == always || card.confirm == unlessSetUp && !m.SetUp) {
		if present {
			w.askForConfirmation(p, m)
			return nil, nil
		}
		refusal = declined(authenticationRequired, authenticationRequired,
			"Your card was declined. This transaction requires authentication.")
	}
	if refusal != nil {
		p.fail(w, refusal)
		return refusal, nil
	}
	return nil, w.paid(p, m, present)
}

func (w *work) askForConfirmation(p *paymentIntent, m *paymentMethod) {
	p.Status, p.PaymentMethod = needsAction, text(m.ID)
	w.update(p, "payment_intent.requires_action")
	w.emit("invoice.payment_action_required", get[invoice](w, p.Invoice))
}

func (p *paymentIntent) fail(w *work, refusal *problem) {
	c := w.newCharge(p, false)
	p.Status, p.PaymentMethod = needsMethod, ""
	p.LastPaymentError, p.LatestCharge = refusal, text(c.ID)
	w.update(p, "payment_intent.payment_failed")
	w.invoiceFailed(get[invoice](w, p.Invoice), refusal)
}

func (p *paymentIntent) succeed(w *work, m *paymentMethod) error { return w.paid(p, m, true) }

func (w *work) paid(p *paymentIntent, m *paymentMethod, present bool) error {
	c := w.newCharge(p, true)
	if present && p.First {
		m.SetUp = true
		w.save(m)
		if err := w.attach(m, string(p.Customer)); err != nil {
			return err
		}
	}
	p.Status, p.PaymentMethod = succeeded, text(m.ID)
	p.LastPaymentError, p.LatestCharge = nil, text(c.ID)
	w.update(p, "payment_intent.succeeded")
	w.invoicePaid(p.Invoice, m)
	if m.card().disputed {
		_, err := w.dispute(c.ID)
		return err
	}
	return nil
}

// abandon cancels the payment intent of an invoice that no longer has to be paid.
func (w *work) abandon(p *paymentIntent) {
	if p.Status != succeeded && p.Status != canceled {
		p.Status = canceled
		w.update(p, "payment_intent.canceled")
	}
}

// charge is an attempt to charge a card.
type charge struct {
	base
	Amount         int64  `json:"amount"`
	AmountRefunded int64  `json:"amount_refunded"`
	Currency       string `json:"currency"`
	Customer       text   `json:"customer"`
	Disputed       bool   `json:"disputed"`
	Paid           bool   `json:"paid"`
	PaymentIntent  text   `json:"payment_intent"`
	Refunded       bool   `json:"refunded"`
	Status         string `json:"status"`
}

func (*charge) kind() string    { return "ch" }
func (c *charge) owner() string { return string(c.Customer) }

// newCharge creates the charge of a payment.
func (w *work) newCharge(p *paymentIntent, paid bool) *charge {
	c := &charge{
		base: w.bareBase("ch", "charge"), Amount: p.Amount, Currency: p.Currency, Customer: p.Customer,
		PaymentIntent: text(p.ID), Paid: paid, Status: "failed",
	}
	if paid {
		c.Status = succeeded
	}
	w.update(c, "charge."+c.Status)
	return c
}

// chargeOf returns the id of the charge that paid an invoice.
func (w *work) chargeOf(invoiceID string) (string, error) {
	i, err := find[invoice](w, invoiceID)
	if err != nil {
		return "", err
	}
	if i.Status != "paid" || i.PaymentIntent == "" {
		return "", invalid("", "", "The invoice %s was not paid with a card.", invoiceID)
	}
	return string(get[paymentIntent](w, i.PaymentIntent).LatestCharge), nil
}

// reversal holds the common fields of refunds and disputes.
type reversal struct {
	base
	Amount   int64  `json:"amount"`
	Charge   text   `json:"charge"`
	Currency string `json:"currency"`
	Status   string `json:"status"`
}

// refund is a repayment of a charge.
type refund struct{ reversal }

func (*refund) kind() string { return "re" }

// refund refunds an amount of a charge. 0 means all that is left.
func (w *work) refund(id string, amount int64) error {
	c := get[charge](w, id)
	left := c.Amount - c.AmountRefunded
	amount = cmp.Or(amount, left)
	switch {
	case left == 0:
		return invalid("charge_already_refunded", "", "Charge %s has already been refunded.", id)
	case amount < 0 || amount > left:
		return invalid("", "amount", "Refund amount (%d) is greater than unrefunded amount on charge (%d)", amount, left)
	}
	c.AmountRefunded += amount
	c.Refunded = c.AmountRefunded == c.Amount
	w.update(c, "charge.refunded")
	w.update(&refund{reversal{w.newBase("re", "refund"), amount, text(c.ID), c.Currency, succeeded}}, "refund.created")
	return nil
}

// dispute is a charge that the card's owner disputes.
type dispute struct{ reversal }

func (*dispute) kind() string    { return "du" }
func (d *dispute) owner() string { return string(d.Charge) }

// dispute creates a dispute of a charge.
func (w *work) dispute(chargeID string) (*dispute, error) {
	c := get[charge](w, chargeID)
	if c.Disputed {
		return nil, invalid("", "charge", "The charge %s cannot be disputed.", c.ID)
	}
	c.Disputed = true
	w.save(c)
	d := &dispute{reversal{w.newBase("du", "dispute"), c.Amount, text(c.ID), c.Currency, "needs_response"}}
	w.update(d, "charge.dispute.created")
	return d, nil
}

// closeDispute closes a dispute.
func (w *work) closeDispute(id string, won bool) error {
	d, err := find[dispute](w, id)
	if err != nil {
		return err
	}
	if d.Status != "needs_response" {
		return invalid("", "", "The dispute %s is closed.", id)
	}
	d.Status = "lost"
	if won {
		d.Status = "won"
	}
	w.update(d, "charge.dispute.closed")
	return nil
}

// collect attempts to pay an open invoice. If method is "", it uses the invoice's default. The owner of the card can
// only confirm invoices of pending updates. The problem is the decline, if any.
func (w *work) collect(i *invoice, method string) (*problem, error) {
	m, err := w.methodFor(i, method)
	if err != nil {
		return nil, err
	}
	if m == nil {
		refusal := invalid("resource_missing", "", "This customer has no attached payment source or default payment method.")
		w.invoiceFailed(i, refusal)
		return refusal, nil
	}
	return w.pay(get[paymentIntent](w, i.PaymentIntent), m, i.Pending && method == "")
}

// methodFor returns the payment method for an invoice, or nil if there is none.
func (w *work) methodFor(i *invoice, method string) (*paymentMethod, error) {
	method = cmp.Or(method, string(i.DefaultPaymentMethod))
	if id := i.subscription(); method == "" && id != "" {
		method = string(get[subscription](w, id).DefaultPaymentMethod)
	}
	if method == "" {
		method = string(get[customer](w, i.Customer).InvoiceSettings.DefaultPaymentMethod)
	}
	if method == "" {
		return nil, nil
	}
	return w.method(method, string(i.Customer))
}

const day = 24 * time.Hour

// retryPauses returns the pauses after failed attempts. If the last attempt fails, the subscription ends.
func retryPauses() []time.Duration { return []time.Duration{3 * day, 5 * day, 7 * day} }

// finalizeAndCollect finalizes an invoice if it is a draft, and attempts to collect it. If the attempt is declined, it
// plans the next one and returns the decline.
func (w *work) finalizeAndCollect(id string) (*problem, error) {
	i := get[invoice](w, id)
	if i.Status == "draft" {
		w.finalize(i)
		i = get[invoice](w, id)
	}
	if i.Status != "open" {
		return nil, nil
	}
	refusal, err := w.collect(i, "")
	if refusal != nil && !i.Pending {
		w.planRetry(get[invoice](w, id))
	}
	return refusal, err
}

// planRetry plans the next attempt to collect an invoice. After the last attempt, it ends the subscription.
func (w *work) planRetry(i *invoice) {
	pauses := retryPauses()
	if i.Retries < len(pauses) {
		i.NextPaymentAttempt = at(w.now.Add(pauses[i.Retries]))
		i.Retries++
		w.update(i, "invoice.updated")
		return
	}
	i.NextPaymentAttempt, i.AutoAdvance = 0, false
	w.update(i, "invoice.updated")
	if id := i.subscription(); id != "" {
		if s := get[subscription](w, id); !s.ended() {
			w.end(s, "payment_failed")
		}
	}
}
