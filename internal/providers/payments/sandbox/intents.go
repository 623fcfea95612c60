package sandbox

import (
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
