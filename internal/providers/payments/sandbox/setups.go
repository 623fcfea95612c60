package sandbox

import "strings"

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
