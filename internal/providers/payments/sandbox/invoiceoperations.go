package sandbox

import "cmp"

func listInvoices(w *work) (any, error) {
	s, status, created := w.form.String("subscription"), w.form.String("status"), w.created()
	return page(w, w.form.String("customer"), func(i *invoice) bool {
		return (s == "" || i.subscription() == s) && (status == "" || i.Status == status) && created(i.Created)
	})
}

func createInvoice(w *work) (any, error) {
	c, err := w.livingCustomer(w.form.Required("customer"))
	if err != nil {
		return nil, err
	}
	var s *subscription
	if id := w.form.String("subscription"); id != "" {
		if s, err = find[subscription](w, id); err != nil {
			return nil, err
		}
	}
	w.form.Enum("collection_method", "charge_automatically")
	i, err := w.newInvoice(c.ID, cmp.Or(w.form.String("currency"), string(c.Currency), "usd"), reasonManual, s)
	if err != nil {
		return nil, err
	}
	i.Metadata, i.Description = w.metadata(), text(w.form.String("description"))
	if i.AutoAdvance = w.form.Bool("auto_advance", false); i.AutoAdvance {
		i.AutomaticallyFinalizesAt = at(w.now.Add(draftFor))
	}
	if w.form.Enum("pending_invoice_items_behavior", "exclude", "include") == "include" {
		if err := w.addPending(i); err != nil {
			return nil, err
		}
	}
	if err := w.sum(i); err != nil {
		return nil, err
	}
	return w.saved(i, "invoice.created")
}

func finalizeInvoice(w *work) (any, error) {
	i, err := find[invoice](w, w.id)
	if err != nil {
		return nil, err
	}
	i.AutoAdvance = w.form.Bool("auto_advance", i.AutoAdvance)
	if i.Status != "draft" {
		return nil, invalid("invoice_not_editable", "", "This invoice is already finalized, you can't re-finalize a non-draft invoice.")
	}
	if err := w.finalize(i); err != nil {
		return nil, err
	}
	return find[invoice](w, i.ID)
}

func payInvoice(w *work) (any, error) {
	i, err := find[invoice](w, w.id)
	if err != nil {
		return nil, err
	}
	if i.Status == "draft" {
		if err := w.finalize(i); err != nil {
			return nil, err
		}
	}
	if i, err = find[invoice](w, i.ID); err != nil {
		return nil, err
	}
	if i.Status != "open" && i.Status != "uncollectible" {
		return nil, invalid("", "", "Invoice is already %s", i.Status)
	}
	w.form.Bool("off_session", true)
	refusal, err := w.collect(i, w.form.String("payment_method"))
	switch {
	case err != nil:
		return nil, err
	case refusal != nil:
		return refusal, nil
	}
	return find[invoice](w, i.ID)
}

func voidInvoice(w *work) (any, error) {
	i, err := find[invoice](w, w.id)
	if err != nil {
		return nil, err
	}
	if i.Status != "open" && i.Status != "uncollectible" {
		return nil, invalid("", "", "You can only pass in open or uncollectible invoices. This invoice is %s.", i.Status)
	}
	if err := w.void(i); err != nil {
		return nil, err
	}
	if err := w.firstInvoiceVoided(i); err != nil {
		return nil, err
	}
	return i, nil
}

func markUncollectible(w *work) (any, error) {
	i, err := find[invoice](w, w.id)
	if err != nil {
		return nil, err
	}
	if i.Status != "open" {
		return nil, invalid("", "", "You can only mark open invoices as uncollectible. This invoice is %s.", i.Status)
	}
	i.Status, i.StatusTransitions.MarkedUncollectibleAt, i.NextPaymentAttempt = "uncollectible", at(w.now), 0
	return w.saved(i, "invoice.marked_uncollectible")
}
