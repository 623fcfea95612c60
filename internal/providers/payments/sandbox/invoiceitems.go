package sandbox

// invoiceItem is an amount that waits for an invoice, or is on one.
type invoiceItem struct {
	base
	Amount       int64       `json:"amount"`
	Currency     string      `json:"currency"`
	Customer     text        `json:"customer"`
	Date         unix        `json:"date"`
	Description  text        `json:"description"`
	Discountable bool        `json:"discountable"`
	Discounts    []string    `json:"discounts"`
	Invoice      text        `json:"invoice"`
	NetAmount    int64       `json:"net_amount"`
	Parent       *itemParent `json:"parent"`
	Period       period      `json:"period"`
	Pricing      *pricing    `json:"pricing"`
	Proration    bool        `json:"proration"`
	Quantity     int64       `json:"quantity"`
}

type itemParent struct {
	Type                string              `json:"type"`
	SubscriptionDetails subscriptionDetails `json:"subscription_details"`
}

func (*invoiceItem) kind() string { return "ii" }

// Owner implements store.Object.
func (i *invoiceItem) Owner() string { return string(i.Customer) }

// subscription returns the id of the subscription that the item is for, or "".
func (i *invoiceItem) subscription() string {
	if i.Parent == nil {
		return ""
	}
	return string(i.Parent.SubscriptionDetails.Subscription)
}

func subscriptionParent(s *subscription) *itemParent {
	return &itemParent{
		Type:                "subscription_details",
		SubscriptionDetails: subscriptionDetails{Subscription: text(s.ID), Metadata: s.Metadata},
	}
}

func createInvoiceItem(w *work) (any, error) {
	c, err := w.livingCustomer(w.form.Required("customer"))
	if err != nil {
		return nil, err
	}
	b, err := w.newBase("ii", "invoiceitem")
	if err != nil {
		return nil, err
	}
	amount, during := w.form.Int("amount", 0), w.form.Sub("period")
	item := &invoiceItem{
		base: b, Amount: amount, Currency: w.form.Required("currency"), Customer: text(c.ID), Date: at(w.now),
		Description: text(w.form.String("description")), Discountable: w.form.Bool("discountable", true),
		Discounts: []string{}, NetAmount: amount, Quantity: 1,
		Period: period{Start: unix(during.Int("start", w.now.Unix())), End: unix(during.Int("end", w.now.Unix()))},
	}
	if err := w.assign(item); err != nil {
		return nil, err
	}
	return w.saved(item, "invoiceitem.created")
}

// assign sets the subscription and the draft that a new item is for.
func (w *work) assign(item *invoiceItem) error {
	if id := w.form.String("subscription"); id != "" {
		s, err := find[subscription](w, id)
		if err != nil {
			return err
		}
		if s.Customer != item.Customer || s.over() {
			return invalid("", "subscription", "The subscription %s is not one of the customer that goes on.", id)
		}
		item.Parent = subscriptionParent(s)
	}
	id := w.form.String("invoice")
	if id == "" {
		return nil
	}
	i, err := find[invoice](w, id)
	switch {
	case err != nil:
		return err
	case i.Status != "draft" || i.Customer != item.Customer:
		return invalid("invoice_not_editable", "invoice", "The invoice %s is not a draft of the customer.", id)
	}
	if err := w.putOn(i, item); err != nil {
		return err
	}
	if err := w.sum(i); err != nil {
		return err
	}
	return w.update(i, "invoice.updated")
}

func deleteInvoiceItem(w *work) (any, error) {
	item, err := find[invoiceItem](w, w.id)
	if err != nil {
		return nil, err
	}
	if item.Invoice != "" {
		return nil, invalid("", "", "The invoice item is on the invoice %s.", item.Invoice)
	}
	if err := w.emit("invoiceitem.deleted", item); err != nil {
		return nil, err
	}
	return deleted(item.ID, "invoiceitem"), w.tx.Delete(item.ID)
}

func listInvoiceItems(w *work) (any, error) {
	of, pending, created := w.form.String("invoice"), w.form.String("pending"), w.created()
	return page(w, w.form.String("customer"), func(i *invoiceItem) bool {
		return (of == "" || string(i.Invoice) == of) && is(pending, i.Invoice == "") && created(i.Created)
	})
}

// addPending adds to a draft the items of the customer that wait for it.
func (w *work) addPending(i *invoice) error {
	waiting, err := list[invoiceItem](w, string(i.Customer))
	if err != nil {
		return err
	}
	for _, item := range waiting {
		of := item.subscription()
		if item.Invoice != "" || item.Currency != i.Currency || of != "" && of != i.subscription() {
			continue
		}
		if err := w.putOn(i, item); err != nil {
			return err
		}
	}
	return nil
}

// putOn adds an item to a draft.
func (w *work) putOn(i *invoice, item *invoiceItem) error {
	item.Invoice = text(i.ID)
	if err := w.save(item); err != nil {
		return err
	}
	return w.addLine(i, &line{
		Amount: item.Amount, Description: string(item.Description), Discountable: item.Discountable,
		Metadata: item.Metadata, Period: item.Period, Pricing: item.Pricing, Quantity: item.Quantity,
		Parent: lineParent{
			Type: "invoice_item_details",
			InvoiceItemDetails: &lineDetails{
				InvoiceItem: text(item.ID), Proration: item.Proration, Subscription: text(item.subscription()),
			},
		},
	})
}
