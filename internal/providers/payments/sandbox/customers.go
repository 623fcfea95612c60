package sandbox

// customer is somebody who pays.
type customer struct {
	base
	Email           text              `json:"email"`
	Name            text              `json:"name"`
	Description     text              `json:"description"`
	Balance         int64             `json:"balance"` // below zero: a credit
	Currency        text              `json:"currency"`
	InvoicePrefix   string            `json:"invoice_prefix"`
	NextInvoice     int64             `json:"next_invoice_sequence"`
	InvoiceSettings customersInvoices `json:"invoice_settings"`
	Deleted         bool              `json:"deleted,omitempty"`
	FailNext        int               `json:"sandbox_fail_next,omitempty"` // payments that will be declined
}

type customersInvoices struct {
	DefaultPaymentMethod text `json:"default_payment_method"`
}

func (*customer) kind() string { return "cus" }

// livingCustomer returns a customer who has not been deleted.
func (w *work) livingCustomer(id string) (*customer, error) {
	c, err := find[customer](w, id)
	if err == nil && c.Deleted {
		return nil, w.missing("cus", id)
	}
	return c, err
}

func createCustomer(w *work) (any, error) {
	b, err := w.newBase("cus", "customer")
	if err != nil {
		return nil, err
	}
	c := &customer{base: b, InvoicePrefix: "R" + b.ID[len(b.ID)-6:], NextInvoice: 1}
	if err := w.setCustomer(c); err != nil {
		return nil, err
	}
	return w.saved(c, "customer.created")
}

// setCustomer sets what a request says of a customer.
func (w *work) setCustomer(c *customer) error {
	for name, field := range map[string]*text{"email": &c.Email, "name": &c.Name, "description": &c.Description} {
		if w.form.Has(name) {
			*field = text(w.form.String(name))
		}
	}
	c.Balance = w.form.Int("balance", c.Balance)
	settings := w.form.Sub("invoice_settings")
	if !settings.Has("default_payment_method") {
		return nil
	}
	method := settings.String("default_payment_method")
	if method != "" {
		pm, err := w.attached(method, c.ID)
		if err != nil {
			return err
		}
		method = pm.ID
	}
	c.InvoiceSettings.DefaultPaymentMethod = text(method)
	return nil
}

func getCustomer(w *work) (any, error) {
	c, err := find[customer](w, w.id)
	if err != nil || !c.Deleted {
		return c, err
	}
	return deleted(c.ID, "customer"), nil
}

// deleted is what is left of an object.
func deleted(id, object string) any {
	return map[string]any{"id": id, "object": object, "deleted": true}
}

func updateCustomer(w *work) (any, error) {
	c, err := w.livingCustomer(w.id)
	if err != nil {
		return nil, err
	}
	w.mergeMetadata(&c.base)
	if err := w.setCustomer(c); err != nil {
		return nil, err
	}
	return w.saved(c, "customer.updated")
}

// deleteCustomer deletes a customer, and ends the subscriptions at once.
func deleteCustomer(w *work) (any, error) {
	c, err := w.livingCustomer(w.id)
	if err != nil {
		return nil, err
	}
	subscriptions, err := list[subscription](w, c.ID)
	if err != nil {
		return nil, err
	}
	for _, s := range subscriptions {
		if s.over() {
			continue
		}
		if err := w.end(s, "cancellation_requested"); err != nil {
			return nil, err
		}
	}
	if c, err = find[customer](w, c.ID); err != nil {
		return nil, err
	}
	c.Deleted = true
	if _, err := w.saved(c, "customer.deleted"); err != nil {
		return nil, err
	}
	return deleted(c.ID, "customer"), nil
}

func listCustomers(w *work) (any, error) {
	email, created := w.form.String("email"), w.created()
	return page(w, "", func(c *customer) bool {
		return !c.Deleted && (email == "" || string(c.Email) == email) && created(c.Created)
	})
}
