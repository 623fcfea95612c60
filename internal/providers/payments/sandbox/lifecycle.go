package sandbox

// subscriptionDue does what a subscription's time demands.
func (w *work) subscriptionDue(id string) error {
	s, err := find[subscription](w, id)
	switch {
	case err != nil:
		return err
	case s.over():
		return nil
	case s.Status == "incomplete":
		return w.expire(s)
	case s.CancelAt != 0 && !w.now.Before(s.CancelAt.time()):
		return w.end(s, "cancellation_requested")
	}
	return w.renew(s)
}

// renew begins the next period of a subscription and drafts its invoice.
func (w *work) renew(s *subscription) error {
	p, err := find[price](w, string(s.item().Price))
	if err != nil {
		return err
	}
	previous := s.period()
	begin := previous.End.time()
	s.item().CurrentPeriodStart = previous.End
	s.item().CurrentPeriodEnd = at(p.Recurring.next(s.BillingCycleAnchor.time(), begin))
	i, err := w.newInvoice(string(s.Customer), s.Currency, reasonCycle, s)
	if err != nil {
		return err
	}
	i.PeriodStart, i.PeriodEnd = previous.Start, previous.End
	i.AutomaticallyFinalizesAt = at(w.now.Add(draftFor))
	if err := w.billPeriod(s, i); err != nil {
		return err
	}
	if err := w.emit("invoice.created", i); err != nil {
		return err
	}
	return w.emit("customer.subscription.updated", s)
}

// expire ends a subscription whose first invoice was not paid in time.
func (w *work) expire(s *subscription) error {
	i, err := find[invoice](w, string(s.LatestInvoice))
	if err != nil {
		return err
	}
	if i.Status == "open" {
		if err := w.void(i); err != nil {
			return err
		}
	}
	s.Status, s.EndedAt = "incomplete_expired", at(w.now)
	return w.update(s, "customer.subscription.updated")
}

// firstInvoiceVoided ends an incomplete subscription whose invoice was voided.
func (w *work) firstInvoiceVoided(i *invoice) error {
	if i.subscription() == "" {
		return nil
	}
	s, err := find[subscription](w, i.subscription())
	if err != nil || s.Status != "incomplete" {
		return err
	}
	return w.expire(s)
}

// end ends a subscription now. Its invoices are no longer collected; the first one is voided.
func (w *work) end(s *subscription, reason string) error {
	invoices, err := list[invoice](w, string(s.Customer))
	if err != nil {
		return err
	}
	for _, i := range invoices {
		if i.subscription() != s.ID {
			continue
		}
		if err := w.letGo(i, s.Status == "incomplete"); err != nil {
			return err
		}
	}
	if s.Schedule != "" {
		if err := w.scheduleEnds(s); err != nil {
			return err
		}
		s.Schedule = ""
	}
	s.Status, s.EndedAt, s.CancellationDetails.Reason = canceled, at(w.now), text(reason)
	if s.CanceledAt == 0 {
		s.CanceledAt = at(w.now)
	}
	return w.update(s, "customer.subscription.deleted")
}

// letGo stops the collection of an invoice.
func (w *work) letGo(i *invoice, first bool) error {
	switch {
	case i.Status != "open" && i.Status != "draft":
		return nil
	case first && i.Status == "open":
		return w.void(i)
	}
	i.AutoAdvance, i.NextPaymentAttempt, i.AutomaticallyFinalizesAt = false, 0, 0
	return w.update(i, "invoice.updated")
}

func cancelSubscription(w *work) (any, error) {
	s, err := find[subscription](w, w.id)
	if err != nil {
		return nil, err
	}
	if s.over() {
		return nil, w.missing("sub", w.id)
	}
	details := w.form.Sub("cancellation_details")
	s.CancellationDetails.Comment = text(details.String("comment"))
	s.CancellationDetails.Feedback = text(details.String("feedback"))
	if w.form.Bool("invoice_now", false) {
		if _, err := w.billNow(s); err != nil {
			return nil, err
		}
	}
	w.form.Bool("prorate", false)
	if err := w.end(s, "cancellation_requested"); err != nil {
		return nil, err
	}
	return s, nil
}
