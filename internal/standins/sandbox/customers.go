package sandbox

import "strings"

// customer is somebody who pays.
type customer struct {
	base
	Balance         int64            `json:"balance"` // above zero is owed
	Currency        text             `json:"currency"`
	Email           text             `json:"email"`
	NextInvoice     int64            `json:"next_invoice_sequence"`
	InvoiceSettings customerInvoices `json:"invoice_settings"`
	Deleted         bool             `json:"deleted,omitempty"`
}

type customerInvoices struct {
	DefaultPaymentMethod text `json:"default_payment_method"`
}

func (*customer) kind() string  { return "cus" }
func (c *customer) alive() bool { return !c.Deleted }

// livingCustomer returns a customer that is not deleted.
func (w *work) livingCustomer(id string) (*customer, error) {
	c, err := find[customer](w, id)
	if err == nil && c.Deleted {
		return nil, w.missing("cus", id)
	}
	return c, err
}

func createCustomer(w *work) (any, error) {
	return w.saved(&customer{base: w.newBase("cus", "customer"), NextInvoice: 1}, "customer.created"), nil
}

func retrieveCustomer(w *work) (any, error) {
	c, err := find[customer](w, w.id)
	if err != nil || !c.Deleted {
		return c, err
	}
	return c.remains(), nil
}

// remains is what is left of a deleted customer.
func (c *customer) remains() any {
	return map[string]any{"id": c.ID, "object": c.Object, "deleted": true}
}

func updateCustomer(w *work) (any, error) {
	c, err := w.livingCustomer(w.id)
	if err != nil {
		return nil, err
	}
	w.mergeMetadata(&c.base)
	if w.form.Has("email") {
		if c.Email = text(w.form.String("email")); c.Email != "" && !strings.Contains(string(c.Email), "@") {
			return nil, invalid("email_invalid", "email", "Invalid email address.")
		}
	}
	if id := w.form.Sub("invoice_settings").String("default_payment_method"); id != "" {
		m, err := w.attached(id, c.ID)
		if err != nil {
			return nil, err
		}
		c.InvoiceSettings.DefaultPaymentMethod = text(m.ID)
	}
	return w.saved(c, "customer.updated"), nil
}

// EmailOf returns the e-mail address of a customer.
func (s *Sandbox) EmailOf(id string) (address string, err error) {
	err = s.read(func(w *work) error {
		c, err := w.livingCustomer(id)
		if err == nil {
			address = string(c.Email)
		}
		return err
	})
	return address, err
}

// deleteCustomer deletes a customer, ends its subscriptions and detaches its cards.
func deleteCustomer(w *work) (any, error) {
	c, err := w.livingCustomer(w.id)
	if err != nil {
		return nil, err
	}
	for _, s := range list[subscription](w, c.ID) {
		if !s.ended() {
			w.end(s, "cancellation_requested")
		}
	}
	for _, m := range list[paymentMethod](w, c.ID) {
		m.Customer = ""
		w.update(m, "payment_method.detached")
	}
	c = get[customer](w, c.ID)
	c.Deleted, c.Email, c.InvoiceSettings.DefaultPaymentMethod = true, "", ""
	w.update(c, "customer.deleted")
	return c.remains(), nil
}
