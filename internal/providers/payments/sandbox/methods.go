package sandbox

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
