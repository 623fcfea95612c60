package sandbox

import "time"

// day is a unit of the retries.
const day = 24 * time.Hour

// afterRetries returns how long after each attempt that failed the next one is made. After the last, the subscription
// ends.
func retryPauses() []time.Duration { return []time.Duration{3 * day, 5 * day, 7 * day} }

// Stripe finalizes the invoice of a renewal an hour after it was drafted.
const draftFor = time.Hour

// collect attempts to pay an open invoice without the card's owner, with a method or, if it is "", with the one that pays
// for it. It returns why that was declined.
func (w *work) collect(i *invoice, method string) (*problem, error) {
	m, err := w.methodFor(i, method)
	if err != nil {
		return nil, err
	}
	p, err := find[paymentIntent](w, i.PaymentIntent)
	if err != nil {
		return nil, err
	}
	if m == nil {
		refusal := invalid("resource_missing", "", "This customer has no attached payment source or default payment method.")
		return refusal, w.invoiceFailed(p, refusal)
	}
	return w.pay(p, m, false)
}

// methodFor returns the payment method for an invoice, or nil if there is none.
func (w *work) methodFor(i *invoice, method string) (*paymentMethod, error) {
	c, err := find[customer](w, string(i.Customer))
	if err != nil {
		return nil, err
	}
	if method == "" {
		method = string(i.DefaultPaymentMethod)
	}
	if id := i.subscription(); method == "" && id != "" {
		s, err := find[subscription](w, id)
		if err != nil {
			return nil, err
		}
		method = string(s.DefaultPaymentMethod)
	}
	if method == "" {
		method = string(c.InvoiceSettings.DefaultPaymentMethod)
	}
	if method == "" {
		return nil, nil
	}
	return w.method(method, c.ID)
}

// invoiceDue finalizes a draft whose hour is over, and attempts to collect an invoice.
func (w *work) invoiceDue(id string) error {
	_, err := w.finalizeAndCollect(id)
	return err
}

// finalizeAndCollect finalizes an invoice that is a draft and attempts to collect it. It returns why that was declined; the
// next attempt is planned then.
func (w *work) finalizeAndCollect(id string) (*problem, error) {
	i, err := find[invoice](w, id)
	if err != nil {
		return nil, err
	}
	if i.Status == "draft" {
		if err := w.finalize(i); err != nil {
			return nil, err
		}
		if i, err = find[invoice](w, id); err != nil {
			return nil, err
		}
	}
	if i.Status != "open" {
		return nil, nil
	}
	refusal, err := w.collect(i, "")
	if err != nil || refusal == nil {
		return nil, err
	}
	return refusal, w.planRetry(id)
}

// planRetry plans the next attempt to collect an invoice, or gives up.
func (w *work) planRetry(id string) error {
	i, err := find[invoice](w, id)
	if err != nil {
		return err
	}
	pauses := retryPauses()
	if i.Retries < len(pauses) {
		i.NextPaymentAttempt = at(w.now.Add(pauses[i.Retries]))
		i.Retries++
		return w.update(i, "invoice.updated")
	}
	i.NextPaymentAttempt, i.AutoAdvance = 0, false
	if err := w.update(i, "invoice.updated"); err != nil || i.subscription() == "" {
		return err
	}
	s, err := find[subscription](w, i.subscription())
	if err != nil || s.over() {
		return err
	}
	return w.end(s, "payment_failed")
}
