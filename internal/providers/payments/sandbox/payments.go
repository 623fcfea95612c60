package sandbox

import (
	"cmp"
	"time"

	"github.com/google/uuid"
)

// paymentIntent is an amount that is to be paid.
type paymentIntent struct {
	base
	Amount             int64       `json:"amount"`
	AmountReceived     int64       `json:"amount_received"`
	CaptureMethod      string      `json:"capture_method"`
	ClientSecret       string      `json:"client_secret"`
	ConfirmationMethod string      `json:"confirmation_method"`
	Currency           string      `json:"currency"`
	Customer           text        `json:"customer"`
	Description        text        `json:"description"`
	LastPaymentError   *problem    `json:"last_payment_error"`
	LatestCharge       text        `json:"latest_charge"`
	NextAction         *nextAction `json:"next_action"`
	PaymentMethod      text        `json:"payment_method"`
	PaymentMethodTypes []string    `json:"payment_method_types"`
	SetupFutureUsage   text        `json:"setup_future_usage"`
	Status             string      `json:"status"`
	Invoice            string      `json:"sandbox_invoice"`
}

// nextAction is what the card's owner must do.
type nextAction struct {
	Type string `json:"type"`
}

const (
	needsMethod = "requires_payment_method"
	needsAction = "requires_action"
	succeeded   = "succeeded"
	canceled    = "canceled"
)

func (*paymentIntent) kind() string { return "pi" }

// Owner implements store.Object.
func (p *paymentIntent) Owner() string { return string(p.Customer) }

// clientSecret returns a new secret that lets a client confirm an intent.
func clientSecret(id string) string { return id + "_secret_" + uuid.NewString() }

// newIntent makes the payment intent of an invoice.
func (w *work) newIntent(i *invoice) (*paymentIntent, error) {
	b, err := w.newBase("pi", "payment_intent")
	if err != nil {
		return nil, err
	}
	b.Metadata = map[string]string{}
	p := &paymentIntent{
		base: b, Amount: i.AmountRemaining, CaptureMethod: "automatic", ClientSecret: clientSecret(b.ID),
		ConfirmationMethod: "automatic", Currency: i.Currency, Customer: i.Customer,
		Description: text(i.purpose()), PaymentMethodTypes: []string{"card"}, Status: needsMethod, Invoice: i.ID,
	}
	if i.BillingReason == reasonCreate {
		p.SetupFutureUsage = "off_session"
	}
	_, err = w.saved(p, "payment_intent.created")
	return p, err
}

func listIntents(w *work) (any, error) {
	created := w.created()
	return page(w, w.form.String("customer"), func(p *paymentIntent) bool { return created(p.Created) })
}

func confirmIntent(w *work) (any, error) {
	p, err := find[paymentIntent](w, w.id)
	if err != nil {
		return nil, err
	}
	return w.confirm(p, w.form.Required("payment_method"))
}

// confirm pays a payment intent as a card's owner does in a page. What it returns is an answer.
func (w *work) confirm(p *paymentIntent, method string) (any, error) {
	if p.Status != needsMethod && p.Status != needsAction {
		return nil, invalid("payment_intent_unexpected_state", "",
			"This PaymentIntent's payment_method could not be updated because it has a status of %s.", p.Status)
	}
	m, err := w.method(method, string(p.Customer))
	if err != nil {
		return nil, err
	}
	refusal, err := w.pay(p, m, true)
	if err != nil || refusal == nil {
		return p, err
	}
	refusal.PaymentIntent = p
	return refusal, nil
}

// pay attempts to pay an intent with a payment method; its owner is there to confirm it, or not. It returns why it was
// declined, and settles the invoice.
func (w *work) pay(p *paymentIntent, m *paymentMethod, present bool) (*problem, error) {
	card := m.card()
	refusal, err := w.refusal(p, card)
	if err != nil {
		return nil, err
	}
	if refusal == nil && (card.confirm == always || card.confirm == unlessSetUp && !m.SetUp) {
		if present {
			return nil, w.askForConfirmation(p, m)
		}
		refusal = declined("authentication_required", "authentication_required",
			"Your card was declined. This transaction requires authentication.")
	}
	if refusal != nil {
		return refusal, w.paymentFailed(p, m, refusal)
	}
	return nil, w.paid(p, m, present)
}

// refusal returns why a payment is declined: since that was demanded, or because of the card.
func (w *work) refusal(p *paymentIntent, card testCard) (*problem, error) {
	c, err := find[customer](w, string(p.Customer))
	if err != nil {
		return nil, err
	}
	if c.FailNext == 0 {
		return card.refusal(), nil
	}
	used := func(w *work) error { return w.failureUsed(c.ID) }
	*w.lasting = append(*w.lasting, used)
	return declined("card_declined", "generic_decline", "Your card was declined."), used(w)
}

func (w *work) failureUsed(owner string) error {
	c, err := find[customer](w, owner)
	if err != nil {
		return err
	}
	c.FailNext--
	return w.save(c)
}

func (w *work) askForConfirmation(p *paymentIntent, m *paymentMethod) error {
	p.Status, p.PaymentMethod, p.NextAction = needsAction, text(m.ID), &nextAction{Type: "use_stripe_sdk"}
	if _, err := w.saved(p, "payment_intent.requires_action"); err != nil {
		return err
	}
	return w.invoiceNeedsAction(p)
}

// authenticate ends the confirmation of an intent by the card's owner.
func (w *work) authenticate(p *paymentIntent, approved bool) (any, error) {
	if p.Status != needsAction {
		return nil, invalid("payment_intent_unexpected_state", "", "This PaymentIntent does not wait for a confirmation.")
	}
	m, err := find[paymentMethod](w, string(p.PaymentMethod))
	if err != nil {
		return nil, err
	}
	if approved {
		return p, w.paid(p, m, true)
	}
	refusal := declined("payment_intent_authentication_failure", "", "The provided PaymentMethod has failed authentication.")
	if err := w.paymentFailed(p, m, refusal); err != nil {
		return nil, err
	}
	refusal.PaymentIntent = p
	return refusal, nil
}

func (w *work) paymentFailed(p *paymentIntent, m *paymentMethod, refusal *problem) error {
	c, err := w.newCharge(p, m, refusal)
	if err != nil {
		return err
	}
	noted := *refusal
	noted.Charge = c.ID
	p.Status, p.PaymentMethod, p.NextAction = needsMethod, "", nil
	p.LastPaymentError, p.LatestCharge = &noted, text(c.ID)
	if _, err := w.saved(p, "payment_intent.payment_failed"); err != nil {
		return err
	}
	return w.invoiceFailed(p, refusal)
}

func (w *work) paid(p *paymentIntent, m *paymentMethod, present bool) error {
	c, err := w.newCharge(p, m, nil)
	if err != nil {
		return err
	}
	if present && p.SetupFutureUsage != "" {
		m.SetUp = true
		if err := w.save(m); err != nil {
			return err
		}
		if err := w.attach(m, string(p.Customer)); err != nil {
			return err
		}
	}
	p.Status, p.PaymentMethod, p.NextAction = succeeded, text(m.ID), nil
	p.AmountReceived, p.LastPaymentError, p.LatestCharge = p.Amount, nil, text(c.ID)
	if _, err := w.saved(p, "payment_intent.succeeded"); err != nil {
		return err
	}
	if err := w.invoicePaid(p.Invoice, p, m); err != nil {
		return err
	}
	if m.card().disputed {
		_, err := w.dispute(c.ID)
		return err
	}
	return nil
}

// abandon cancels the payment intent of an invoice that need not be paid any more.
func (w *work) abandon(id string) error {
	p, err := find[paymentIntent](w, id)
	if err != nil || p.Status == succeeded || p.Status == canceled {
		return err
	}
	p.Status, p.NextAction = canceled, nil
	_, err = w.saved(p, "payment_intent.canceled")
	return err
}

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

// day is a unit of the retries.
const day = 24 * time.Hour

// afterRetries returns how long after each attempt that failed the next one is made. After the last, the subscription
// ends.
func retryPauses() []time.Duration { return []time.Duration{3 * day, 5 * day, 7 * day} }

// Stripe finalizes the invoice of a renewal an hour after it was drafted.
const draftFor = time.Hour

// collect attempts to pay an open invoice without the card's owner, with a method or, if it is "", with the one that pays
// for it. It returns why that was declined.
func (w *work) collect(i *invoice, method string) (*problem, error) {
	m, err := w.methodFor(i, method)
	if err != nil {
		return nil, err
	}
	p, err := find[paymentIntent](w, i.PaymentIntent)
	if err != nil {
		return nil, err
	}
	if m == nil {
		refusal := invalid("resource_missing", "", "This customer has no attached payment source or default payment method.")
		return refusal, w.invoiceFailed(p, refusal)
	}
	return w.pay(p, m, false)
}

// methodFor returns the payment method for an invoice, or nil if there is none.
func (w *work) methodFor(i *invoice, method string) (*paymentMethod, error) {
	c, err := find[customer](w, string(i.Customer))
	if err != nil {
		return nil, err
	}
	if method == "" {
		method = string(i.DefaultPaymentMethod)
	}
	if id := i.subscription(); method == "" && id != "" {
		s, err := find[subscription](w, id)
		if err != nil {
			return nil, err
		}
		method = string(s.DefaultPaymentMethod)
	}
	if method == "" {
		method = string(c.InvoiceSettings.DefaultPaymentMethod)
	}
	if method == "" {
		return nil, nil
	}
	return w.method(method, c.ID)
}

// invoiceDue finalizes a draft whose hour is over, and attempts to collect an invoice.
func (w *work) invoiceDue(id string) error {
	_, err := w.finalizeAndCollect(id)
	return err
}

// finalizeAndCollect finalizes an invoice that is a draft and attempts to collect it. It returns why that was declined; the
// next attempt is planned then.
func (w *work) finalizeAndCollect(id string) (*problem, error) {
	i, err := find[invoice](w, id)
	if err != nil {
		return nil, err
	}
	if i.Status == "draft" {
		if err := w.finalize(i); err != nil {
			return nil, err
		}
		if i, err = find[invoice](w, id); err != nil {
			return nil, err
		}
	}
	if i.Status != "open" {
		return nil, nil
	}
	refusal, err := w.collect(i, "")
	if err != nil || refusal == nil {
		return nil, err
	}
	return refusal, w.planRetry(id)
}

// planRetry plans the next attempt to collect an invoice, or gives up.
func (w *work) planRetry(id string) error {
	i, err := find[invoice](w, id)
	if err != nil {
		return err
	}
	pauses := retryPauses()
	if i.Retries < len(pauses) {
		i.NextPaymentAttempt = at(w.now.Add(pauses[i.Retries]))
		i.Retries++
		return w.update(i, "invoice.updated")
	}
	i.NextPaymentAttempt, i.AutoAdvance = 0, false
	if err := w.update(i, "invoice.updated"); err != nil || i.subscription() == "" {
		return err
	}
	s, err := find[subscription](w, i.subscription())
	if err != nil || s.over() {
		return err
	}
	return w.end(s, "payment_failed")
}
