package sandbox

// How the payment of a change may turn out.
const (
	allowIncomplete   = "allow_incomplete"
	defaultIncomplete = "default_incomplete"
	errorIfIncomplete = "error_if_incomplete"
)

func createSubscription(w *work) (any, error) {
	c, err := w.livingCustomer(w.form.Required("customer"))
	if err != nil {
		return nil, err
	}
	behavior := w.form.Enum("payment_behavior", allowIncomplete, defaultIncomplete, errorIfIncomplete)
	w.form.Enum("collection_method", "charge_automatically")
	w.form.Bool("off_session", false)
	s, err := w.newSubscription(c)
	if err != nil {
		return nil, err
	}
	i, err := w.firstInvoice(s)
	if err != nil {
		return nil, err
	}
	if err := w.emit("customer.subscription.created", s); err != nil {
		return nil, err
	}
	if err := w.update(i, "invoice.created"); err != nil {
		return nil, err
	}
	if err := w.finalize(i); err != nil {
		return nil, err
	}
	if i.AmountRemaining > 0 && behavior != defaultIncomplete {
		refusal, err := w.collect(i, "")
		if err != nil {
			return nil, err
		}
		if refusal != nil && (behavior == errorIfIncomplete || refusal.Type != "card_error") {
			return nil, refusal
		}
	}
	return find[subscription](w, s.ID)
}

// newSubscription makes an incomplete subscription as a request says.
func (w *work) newSubscription(c *customer) (*subscription, error) {
	wanted, err := oneItem(w.form)
	if err != nil {
		return nil, err
	}
	p, err := w.recurringPrice(wanted.Required("price"))
	if err != nil {
		return nil, err
	}
	if err := w.setCurrency(c, p.Currency); err != nil {
		return nil, err
	}
	b, err := w.newBase("sub", "subscription")
	if err != nil {
		return nil, err
	}
	itemID, err := w.tx.NextID("si")
	if err != nil {
		return nil, err
	}
	s := &subscription{
		base: b, BillingCycleAnchor: at(w.now), BillingMode: billingMode{Type: "flexible"},
		CollectionMethod: "charge_automatically", Currency: p.Currency, Customer: text(c.ID), Discounts: []string{},
		PaymentSettings: paymentSettings{SaveDefaultPaymentMethod: "off", PaymentMethodTypes: []string{"card"}},
		StartDate:       at(w.now), Status: "incomplete",
		Items: items{Object: "list", URL: "/v1/subscription_items?subscription=" + b.ID, TotalCount: 1, Data: []*item{{
			ID: itemID, Object: "subscription_item", Created: at(w.now), Discounts: []string{},
			CurrentPeriodStart: at(w.now), CurrentPeriodEnd: at(p.Recurring.next(w.now, w.now)),
			Metadata: wanted.Metadata(), Price: text(p.ID), Quantity: wanted.Int("quantity", 1), Subscription: b.ID,
		}}},
	}
	if err := w.setDetails(s); err != nil {
		return nil, err
	}
	return s, w.save(s)
}

// setCurrency sets in what a customer pays, which is one currency.
func (w *work) setCurrency(c *customer, currency string) error {
	if c.Currency == text(currency) {
		return nil
	}
	if c.Currency != "" {
		return invalid("", "items[0][price]", "You cannot combine currencies on a single customer. This customer has %s.", c.Currency)
	}
	c.Currency = text(currency)
	return w.save(c)
}

// firstInvoice drafts the first invoice of a subscription.
func (w *work) firstInvoice(s *subscription) (*invoice, error) {
	i, err := w.newInvoice(string(s.Customer), s.Currency, reasonCreate, s)
	if err != nil {
		return nil, err
	}
	return i, w.billPeriod(s, i)
}

// billPeriod adds to a draft what a subscription costs in its period, and what waits for its next invoice.
func (w *work) billPeriod(s *subscription, i *invoice) error {
	l, err := w.priceLine(s, s.period())
	if err != nil {
		return err
	}
	if err := w.addLine(i, l); err != nil {
		return err
	}
	discounted, by, err := w.off(s, l.Amount, true)
	if err != nil {
		return err
	}
	if err := w.addPending(i); err != nil {
		return err
	}
	s.LatestInvoice, s.Charged = text(i.ID), l.Amount-discounted
	i.discount(discounted, by)
	if err := w.sum(i); err != nil {
		return err
	}
	return w.save(s, i)
}

// subscriptionPaid makes a subscription go on whose invoice was paid.
func (w *work) subscriptionPaid(i *invoice, m *paymentMethod) error {
	s, err := find[subscription](w, i.subscription())
	if err != nil || s.over() {
		return err
	}
	before := *s
	if m != nil && s.PaymentSettings.SaveDefaultPaymentMethod == "on_subscription" && i.BillingReason == reasonCreate {
		s.DefaultPaymentMethod = text(m.ID)
	}
	if s.Status == "incomplete" || string(s.LatestInvoice) == i.ID {
		s.Status = "active"
	}
	if s.Status == before.Status && s.DefaultPaymentMethod == before.DefaultPaymentMethod {
		return nil
	}
	return w.update(s, "customer.subscription.updated")
}

// subscriptionUnpaid notes that the payment of an invoice has failed.
func (w *work) subscriptionUnpaid(i *invoice) error {
	if i.subscription() == "" {
		return nil
	}
	s, err := find[subscription](w, i.subscription())
	if err != nil || s.Status != "active" {
		return err
	}
	s.Status = "past_due"
	return w.update(s, "customer.subscription.updated")
}
