package sandbox

import (
	"net/http"
	"strings"
)

// testCard is a card that behaves in a known way. Its number and the ids that stand for it are those of Stripe.
type testCard struct {
	number   string
	ids      string // of payment methods, separated by spaces
	brand    string
	funding  string
	decline  string // why payments are declined; "" means that they are not
	refused  bool   // it cannot even be attached to a customer
	confirm  string // when its owner is asked to confirm: "", "always" or "unless set up"
	disputed bool   // its owner disputes every payment
}

const (
	always      = "always"
	unlessSetUp = "unless set up"
)

func testCards() []testCard {
	return []testCard{
		{number: "4242424242424242", ids: "pm_card_visa", brand: "visa"},
		{number: "4000056655665556", ids: "pm_card_visa_debit", brand: "visa", funding: "debit"},
		{number: "5555555555554444", ids: "pm_card_mastercard", brand: "mastercard"},
		{number: "378282246310005", ids: "pm_card_amex", brand: "amex"},
		{number: "4000000000000002", ids: "pm_card_chargeDeclined pm_card_visa_chargeDeclined", brand: "visa", decline: "generic_decline", refused: true},
		{number: "4000000000009995", ids: "pm_card_chargeDeclinedInsufficientFunds pm_card_visa_chargeDeclinedInsufficientFunds", brand: "visa", decline: "insufficient_funds", refused: true},
		{number: "4000000000000069", ids: "pm_card_chargeDeclinedExpiredCard pm_card_visa_chargeDeclinedExpiredCard", brand: "visa", decline: "expired_card", refused: true},
		{number: "4000000000000341", ids: "pm_card_chargeCustomerFail pm_card_visa_chargeCustomerFail", brand: "visa", decline: "generic_decline"},
		{number: "4000002500003155", ids: "pm_card_authenticationRequiredOnSetup", brand: "visa", confirm: unlessSetUp},
		{number: "4000002760003184", ids: "pm_card_authenticationRequired", brand: "visa", confirm: always},
		{number: "4000000000000259", ids: "pm_card_createDispute", brand: "visa", disputed: true},
	}
}

// cardOf returns the card with a number, or that an id stands for.
func cardOf(numberOrID string) (testCard, bool) {
	numberOrID = strings.ReplaceAll(numberOrID, " ", "")
	for _, c := range testCards() {
		if c.number == numberOrID {
			return c, true
		}
		for id := range strings.FieldsSeq(c.ids) {
			if id == numberOrID {
				return c, true
			}
		}
	}
	return testCard{}, false
}

// isNumber reports whether a text is a card's number rather than an id.
func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789 ") == "" }

func (c testCard) last4() string { return c.number[len(c.number)-4:] }

// refusal returns what Stripe says when the card is declined.
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
	Type           string         `json:"type"`
	Customer       text           `json:"customer"`
	AllowRedisplay string         `json:"allow_redisplay"`
	BillingDetails billingDetails `json:"billing_details"`
	Card           cardDetails    `json:"card"`
	Number         string         `json:"sandbox_number"`
	SetUp          bool           `json:"sandbox_set_up,omitempty"` // its owner has confirmed payments to come
}

type billingDetails struct {
	Email text `json:"email"`
	Name  text `json:"name"`
}

type cardDetails struct {
	Brand        string `json:"brand"`
	DisplayBrand string `json:"display_brand"`
	Country      string `json:"country"`
	ExpMonth     int    `json:"exp_month"`
	ExpYear      int    `json:"exp_year"`
	Fingerprint  string `json:"fingerprint"`
	Funding      string `json:"funding"`
	Last4        string `json:"last4"`
}

func (*paymentMethod) kind() string { return "pm" }

// Owner implements store.Object.
func (m *paymentMethod) Owner() string { return string(m.Customer) }

func (m *paymentMethod) card() testCard {
	c, _ := cardOf(m.Number)
	return c
}

// newMethod makes a payment method of a test card, which belongs to nobody.
func (w *work) newMethod(numberOrID string) (*paymentMethod, error) {
	c, ok := cardOf(numberOrID)
	if !ok {
		return nil, declined("incorrect_number", "", "Your card number is incorrect.")
	}
	b, err := w.newBase("pm", "payment_method")
	if err != nil {
		return nil, err
	}
	funding := c.funding
	if funding == "" {
		funding = "credit"
	}
	m := &paymentMethod{
		base: b, Type: "card", AllowRedisplay: "unspecified", Number: c.number,
		Card: cardDetails{
			Brand: c.brand, DisplayBrand: c.brand, Country: "US", ExpMonth: int(w.now.Month()),
			ExpYear: w.now.Year() + 3, Fingerprint: "sandbox" + c.last4(), Funding: funding, Last4: c.last4(),
		},
	}
	return m, w.save(m)
}

// method returns a payment method for a customer: theirs, one that belongs to nobody yet, or a new one of a test card.
func (w *work) method(id, owner string) (*paymentMethod, error) {
	if _, ok := cardOf(id); ok || isNumber(id) {
		return w.newMethod(id)
	}
	m, err := find[paymentMethod](w, id)
	if err != nil {
		return nil, err
	}
	if m.Customer != "" && string(m.Customer) != owner {
		return nil, invalid("payment_method_customer_mismatch", "payment_method",
			"The payment method %s does not belong to the customer.", id)
	}
	return m, nil
}

// attached returns a payment method of a customer, or a problem if it is not theirs.
func (w *work) attached(id, owner string) (*paymentMethod, error) {
	m, err := find[paymentMethod](w, id)
	if err != nil {
		return nil, err
	}
	if string(m.Customer) != owner {
		return nil, invalid("resource_missing", "default_payment_method",
			"The customer does not have a payment method with the ID %s. The payment method must be attached to the customer.", id)
	}
	return m, nil
}

func createMethod(w *work) (any, error) {
	w.form.Enum("type", "card")
	card := w.form.Sub("card")
	number := card.String("number")
	if number == "" {
		number = card.Required("token")
	}
	for _, name := range []string{"cvc", "exp_month", "exp_year"} {
		card.String(name)
	}
	return w.newMethod(number)
}

func updateMethod(w *work) (any, error) {
	m, err := find[paymentMethod](w, w.id)
	if err != nil {
		return nil, err
	}
	w.mergeMetadata(&m.base)
	return w.saved(m, "payment_method.updated")
}

func attachMethod(w *work) (any, error) {
	c, err := w.livingCustomer(w.form.Required("customer"))
	if err != nil {
		return nil, err
	}
	m, err := w.method(w.id, c.ID)
	if err != nil {
		return nil, err
	}
	if string(m.Customer) == c.ID {
		return m, nil
	}
	return m, w.attach(m, c.ID)
}

// attach gives a payment method to a customer.
func (w *work) attach(m *paymentMethod, owner string) error {
	if string(m.Customer) == owner {
		return nil
	}
	if c := m.card(); c.refused {
		return c.refusal()
	}
	m.Customer = text(owner)
	_, err := w.saved(m, "payment_method.attached")
	return err
}

func detachMethod(w *work) (any, error) {
	m, err := find[paymentMethod](w, w.id)
	if err != nil {
		return nil, err
	}
	if m.Customer == "" {
		return nil, invalid("", "", "The payment method you provided is not attached to a customer so detachment is impossible.")
	}
	if err := w.forget(m); err != nil {
		return nil, err
	}
	m.Customer = ""
	return w.saved(m, "payment_method.detached")
}

// forget takes a payment method away from what it pays for.
func (w *work) forget(m *paymentMethod) error {
	c, err := find[customer](w, string(m.Customer))
	if err != nil {
		return err
	}
	if string(c.InvoiceSettings.DefaultPaymentMethod) == m.ID {
		c.InvoiceSettings.DefaultPaymentMethod = ""
		if _, err := w.saved(c, "customer.updated"); err != nil {
			return err
		}
	}
	subscriptions, err := list[subscription](w, c.ID)
	if err != nil {
		return err
	}
	for _, s := range subscriptions {
		if string(s.DefaultPaymentMethod) != m.ID {
			continue
		}
		s.DefaultPaymentMethod = ""
		if _, err := w.saved(s, "customer.subscription.updated"); err != nil {
			return err
		}
	}
	return nil
}

func listMethods(w *work) (any, error) { return w.methodsOf(w.form.String("customer")) }

func listCustomersMethods(w *work) (any, error) {
	if _, err := w.livingCustomer(w.id); err != nil {
		return nil, err
	}
	return w.methodsOf(w.id)
}

func (w *work) methodsOf(owner string) (any, error) {
	w.form.Enum("type", "card")
	return page(w, owner, func(m *paymentMethod) bool { return string(m.Customer) == owner })
}

// setupIntent is the registration of a card.
type setupIntent struct {
	base
	ClientSecret       string      `json:"client_secret"`
	Customer           text        `json:"customer"`
	Description        text        `json:"description"`
	LastSetupError     *problem    `json:"last_setup_error"`
	NextAction         *nextAction `json:"next_action"`
	PaymentMethod      text        `json:"payment_method"`
	PaymentMethodTypes []string    `json:"payment_method_types"`
	Status             string      `json:"status"`
	Usage              string      `json:"usage"`
}

func (*setupIntent) kind() string { return "seti" }

// Owner implements store.Object.
func (i *setupIntent) Owner() string { return string(i.Customer) }

func createSetup(w *work) (any, error) {
	c, err := w.livingCustomer(w.form.Required("customer"))
	if err != nil {
		return nil, err
	}
	b, err := w.newBase("seti", "setup_intent")
	if err != nil {
		return nil, err
	}
	w.form.Strings("payment_method_types")
	automatic := w.form.Sub("automatic_payment_methods")
	automatic.Bool("enabled", true)
	automatic.Enum("allow_redirects", "always", "never")
	i := &setupIntent{
		base: b, ClientSecret: clientSecret(b.ID), Customer: text(c.ID), Description: text(w.form.String("description")),
		PaymentMethodTypes: []string{"card"}, Status: needsMethod, Usage: w.form.Enum("usage", "off_session", "on_session"),
	}
	return w.saved(i, "setup_intent.created")
}

func listSetups(w *work) (any, error) {
	created, method := w.created(), w.form.String("payment_method")
	return page(w, w.form.String("customer"), func(i *setupIntent) bool {
		return created(i.Created) && (method == "" || string(i.PaymentMethod) == method)
	})
}

func confirmSetup(w *work) (any, error) {
	i, err := find[setupIntent](w, w.id)
	if err != nil {
		return nil, err
	}
	return w.register(i, w.form.Required("payment_method"))
}

func cancelSetup(w *work) (any, error) {
	i, err := find[setupIntent](w, w.id)
	if err != nil {
		return nil, err
	}
	if i.Status == succeeded || i.Status == canceled {
		return nil, i.unexpected()
	}
	i.Status, i.NextAction = canceled, nil
	return w.saved(i, "setup_intent.canceled")
}

func (i *setupIntent) unexpected() *problem {
	return invalid("setup_intent_unexpected_state", "", "This SetupIntent has a status of %s.", i.Status)
}

// register registers a card as its owner does in a page. What it returns is an answer.
func (w *work) register(i *setupIntent, method string) (any, error) {
	if i.Status != needsMethod && i.Status != needsAction {
		return nil, i.unexpected()
	}
	m, err := w.method(method, string(i.Customer))
	if err != nil {
		return nil, err
	}
	card := m.card()
	switch {
	case card.refused:
		return w.setupFailed(i, card.refusal())
	case card.confirm != "":
		i.Status, i.PaymentMethod, i.NextAction = needsAction, text(m.ID), &nextAction{Type: "use_stripe_sdk"}
		return w.saved(i, "setup_intent.requires_action")
	}
	return w.registered(i, m)
}

func (w *work) setupFailed(i *setupIntent, refusal *problem) (any, error) {
	i.Status, i.PaymentMethod, i.NextAction, i.LastSetupError = needsMethod, "", nil, refusal
	if err := w.update(i, "setup_intent.setup_failed"); err != nil {
		return nil, err
	}
	answer := *refusal
	answer.SetupIntent = i
	return &answer, nil
}

func (w *work) registered(i *setupIntent, m *paymentMethod) (any, error) {
	m.SetUp = true
	if err := w.save(m); err != nil {
		return nil, err
	}
	if err := w.attach(m, string(i.Customer)); err != nil {
		return nil, err
	}
	i.Status, i.PaymentMethod, i.NextAction, i.LastSetupError = succeeded, text(m.ID), nil, nil
	return w.saved(i, "setup_intent.succeeded")
}

// authenticateSetup ends the confirmation of a registration by the card's owner.
func (w *work) authenticateSetup(i *setupIntent, approved bool) (any, error) {
	if i.Status != needsAction {
		return nil, i.unexpected()
	}
	m, err := find[paymentMethod](w, string(i.PaymentMethod))
	if err != nil {
		return nil, err
	}
	if !approved {
		return w.setupFailed(i, declined("setup_intent_authentication_failure", "", "The provided PaymentMethod has failed authentication."))
	}
	return w.registered(i, m)
}

// setupOf returns the registration that a client secret belongs to.
func (w *work) setupOf(clientSecret string) (*setupIntent, error) {
	id, _, _ := strings.Cut(clientSecret, "_secret_")
	i, err := find[setupIntent](w, id)
	if err == nil && i.ClientSecret != clientSecret {
		return nil, w.missing("seti", id)
	}
	return i, err
}
