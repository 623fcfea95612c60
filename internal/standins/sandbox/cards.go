package sandbox

import (
	"net/http"
	"strings"

	"github.com/recital-tts/recital/internal/standins/sandbox/form"
)

// testCard is a card with known behaviour. The number and the id of its payment method are Stripe's.
type testCard struct {
	Number   string // as on the card
	Does     string // description for people
	id       string // id of its payment method
	brand    string
	decline  string // reason for declining payments; "" if it pays
	refused  bool   // it cannot be attached to a customer
	confirm  string // when it asks for confirmation: "" (never), always or unlessSetUp
	disputed bool   // its owner disputes every payment
}

const (
	always      = "always"
	unlessSetUp = "unless set up"
)

func testCards() []testCard {
	return []testCard{
		{Number: "4242 4242 4242 4242", Does: "pays (visa)", id: "pm_card_visa", brand: "visa"},
		{Number: "5555 5555 5555 4444", Does: "pays (mastercard)", id: "pm_card_mastercard", brand: "mastercard"},
		{Number: "3782 822463 10005", Does: "pays (amex)", id: "pm_card_amex", brand: "amex"},
		{Number: "4000 0000 0000 0002", Does: "is declined: generic decline",
			id: "pm_card_chargeDeclined", brand: "visa", decline: "generic_decline", refused: true},
		{Number: "4000 0000 0000 9995", Does: "is declined: insufficient funds",
			id: "pm_card_chargeDeclinedInsufficientFunds", brand: "visa", decline: "insufficient_funds", refused: true},
		{Number: "4000 0000 0000 0069", Does: "is declined: expired card",
			id: "pm_card_chargeDeclinedExpiredCard", brand: "visa", decline: "expired_card", refused: true},
		{Number: "4000 0000 0000 0341", Does: "can be registered, and is declined",
			id: "pm_card_chargeCustomerFail", brand: "visa", decline: "generic_decline"},
		{Number: "4000 0025 0000 3155", Does: "pays; asks for a confirmation the first time",
			id: "pm_card_authenticationRequiredOnSetup", brand: "visa", confirm: unlessSetUp},
		{Number: "4000 0027 6000 3184", Does: "pays; asks for a confirmation each time",
			id: "pm_card_authenticationRequired", brand: "visa", confirm: always},
		{Number: "4000 0000 0000 0259", Does: "pays; its owner disputes it",
			id: "pm_card_createDispute", brand: "visa", disputed: true},
	}
}

// cardOf returns the card with this number or payment method.
func cardOf(numberOrID string) (testCard, bool) {
	number := func(s string) string { return strings.ReplaceAll(s, " ", "") }
	for _, c := range testCards() {
		if number(c.Number) == number(numberOrID) || c.id == numberOrID {
			return c, true
		}
	}
	return testCard{}, false
}

// isNumber reports whether s is a card's number and not an id.
func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789 ") == "" }

// refusal returns Stripe's error for a declined payment, or nil if the card pays.
func (c testCard) refusal() *problem {
	switch c.decline {
	case "":
		return nil
	case "expired_card":
		return declined(c.decline, c.decline, "Your card has expired.")
	case "insufficient_funds":
		return declined("card_declined", c.decline, "Your card has insufficient funds.")
	}
	return declined("card_declined", c.decline, "Your card was declined.")
}

func declined(code, decline, message string) *problem {
	return &problem{
		status: http.StatusPaymentRequired, Type: "card_error", Code: code, DeclineCode: decline, Message: message,
	}
}

// paymentMethod is a card.
type paymentMethod struct {
	base
	Type     string      `json:"type"`
	Customer text        `json:"customer"`
	Card     cardDetails `json:"card"`
	Number   string      `json:"sandbox_number"`
	SetUp    bool        `json:"sandbox_set_up,omitempty"` // its owner has confirmed later payments
}

type cardDetails struct {
	Brand string `json:"brand"`
	Last4 string `json:"last4"`
}

func (*paymentMethod) kind() string    { return "pm" }
func (m *paymentMethod) owner() string { return string(m.Customer) }

func (m *paymentMethod) card() testCard {
	c, _ := cardOf(m.Number)
	return c
}

// method returns a payment method that the owner may use: one of its own, an unattached one, or a new one for a test
// card.
func (w *work) method(id, owner string) (*paymentMethod, error) {
	if c, ok := cardOf(id); ok || isNumber(id) {
		return w.newMethod(c)
	}
	m, err := find[paymentMethod](w, id)
	if err == nil && m.Customer != "" && string(m.Customer) != owner {
		return nil, invalid("payment_method_customer_mismatch", "payment_method",
			"The payment method %s does not belong to the customer.", id)
	}
	return m, err
}

// newMethod creates an unattached payment method for a test card. The zero card is an unknown card.
func (w *work) newMethod(c testCard) (*paymentMethod, error) {
	if c.Number == "" {
		return nil, declined("incorrect_number", "", "Your card number is incorrect.")
	}
	m := &paymentMethod{
		base: w.newBase("pm", "payment_method"), Type: "card", Number: c.Number,
		Card: cardDetails{Brand: c.brand, Last4: c.Number[len(c.Number)-4:]},
	}
	w.save(m)
	return m, nil
}

// setMethod sets *method to the payment method in the form's default_payment_method, if it has one. The payment method
// must be attached to the owner.
func (w *work) setMethod(in *form.Form, owner string, method *text) error {
	id := in.String("default_payment_method")
	if id == "" {
		return nil
	}
	m, err := find[paymentMethod](w, id)
	if err == nil && string(m.Customer) != owner {
		err = invalid("resource_missing", "default_payment_method",
			"The customer does not have a payment method with the ID %s. The payment method must be attached to the customer.",
			id)
	}
	if err == nil {
		*method = text(m.ID)
	}
	return err
}

func attachMethod(w *work, c *customer) (any, error) {
	m, err := w.method(w.id, c.ID)
	if err != nil {
		return nil, err
	}
	return m, w.attach(m, c.ID)
}

// attach attaches a payment method to a customer.
func (w *work) attach(m *paymentMethod, owner string) error {
	if string(m.Customer) == owner {
		return nil
	}
	if c := m.card(); c.refused {
		return c.refusal()
	}
	m.Customer = text(owner)
	w.update(m, "payment_method.attached")
	return nil
}

// setupIntent is the registration of a card.
type setupIntent struct {
	base
	intentState
	LastSetupError *problem `json:"last_setup_error"`
}

func (*setupIntent) kind() string    { return "seti" }
func (i *setupIntent) owner() string { return string(i.Customer) }

func createSetup(w *work, c *customer) (any, error) {
	w.form.Strings("payment_method_types")
	w.form.Enum("usage", "off_session")
	b := w.newBase("seti", "setup_intent")
	return w.saved(&setupIntent{base: b, intentState: newState(b.ID, text(c.ID))}, "setup_intent.created"), nil
}

func (i *setupIntent) attempt(w *work, m *paymentMethod) (*problem, error) {
	card := m.card()
	switch {
	case card.refused:
		refusal := card.refusal()
		i.fail(w, refusal)
		return refusal, nil
	case card.confirm != "":
		i.Status, i.PaymentMethod = needsAction, text(m.ID)
		w.update(i, "setup_intent.requires_action")
		return nil, nil
	}
	return nil, i.succeed(w, m)
}

func (i *setupIntent) fail(w *work, refusal *problem) {
	i.Status, i.PaymentMethod, i.LastSetupError = needsMethod, "", refusal
	w.update(i, "setup_intent.setup_failed")
}

func (i *setupIntent) succeed(w *work, m *paymentMethod) error {
	m.SetUp = true
	w.save(m)
	if err := w.attach(m, string(i.Customer)); err != nil {
		return err
	}
	i.Status, i.PaymentMethod, i.LastSetupError = succeeded, text(m.ID), nil
	w.update(i, "setup_intent.succeeded")
	return nil
}
