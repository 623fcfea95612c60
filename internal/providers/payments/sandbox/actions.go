package sandbox

import (
	"strings"

	"github.com/recital-tts/recital/internal/providers/payments/sandbox/store"
)

// act does something that no request of the API does.
func (s *Sandbox) act(do func(*work) (any, error)) error {
	var refused *problem
	err := s.store.Update(func(tx *store.Tx) error {
		answer, err := do(s.work(tx))
		refused, _ = answer.(*problem)
		return err
	})
	s.deliveries.wake()
	if err != nil {
		return err
	}
	if refused != nil {
		return refused
	}
	return nil
}

// Authenticate ends the confirmation that a card has asked its owner for.
func (s *Sandbox) Authenticate(clientSecret string, approved bool) error {
	return s.act(func(w *work) (any, error) {
		if isSetup(clientSecret) {
			i, err := w.setupOf(clientSecret)
			if err != nil {
				return nil, err
			}
			return w.authenticateSetup(i, approved)
		}
		p, err := w.intentOf(clientSecret)
		if err != nil {
			return nil, err
		}
		return w.authenticate(p, approved)
	})
}

// Confirm pays a payment intent, or registers a card, as the card's owner does in a browser. The method is a payment method,
// the id of a test card such as pm_card_visa, or its number. If the card asks for a confirmation, the intent waits for
// Authenticate.
func (s *Sandbox) Confirm(clientSecret, method string) error {
	return s.act(func(w *work) (any, error) {
		if isSetup(clientSecret) {
			i, err := w.setupOf(clientSecret)
			if err != nil {
				return nil, err
			}
			return w.register(i, method)
		}
		p, err := w.intentOf(clientSecret)
		if err != nil {
			return nil, err
		}
		return w.confirm(p, method)
	})
}

func isSetup(clientSecret string) bool { return strings.HasPrefix(clientSecret, "seti_") }

// Refund refunds an amount of what was paid for an invoice; 0 means what is left of it.
func (s *Sandbox) Refund(invoiceID string, amount int64) error {
	return s.act(func(w *work) (any, error) {
		id, err := w.chargeOf(invoiceID)
		if err != nil {
			return nil, err
		}
		return w.giveBack(id, amount, "requested_by_customer")
	})
}

// Dispute has the card's owner dispute what was paid for an invoice, and returns the dispute's id.
func (s *Sandbox) Dispute(invoiceID string) (id string, err error) {
	err = s.act(func(w *work) (any, error) {
		charged, err := w.chargeOf(invoiceID)
		if err != nil {
			return nil, err
		}
		d, err := w.dispute(charged)
		if err == nil {
			id = d.ID
		}
		return nil, err
	})
	return id, err
}

// CloseDispute ends a dispute.
func (s *Sandbox) CloseDispute(id string, won bool) error {
	return s.act(func(w *work) (any, error) {
		_, err := w.closeDispute(id, won)
		return nil, err
	})
}

// chargeOf returns the charge that has paid an invoice.
func (w *work) chargeOf(invoiceID string) (string, error) {
	i, err := find[invoice](w, invoiceID)
	if err != nil {
		return "", err
	}
	if i.Status != "paid" || i.PaymentIntent == "" {
		return "", invalid("", "", "The invoice %s was not paid with a card.", invoiceID)
	}
	p, err := find[paymentIntent](w, i.PaymentIntent)
	if err != nil {
		return "", err
	}
	return string(p.LatestCharge), nil
}

// intentOf returns the payment intent that a client secret belongs to.
func (w *work) intentOf(clientSecret string) (*paymentIntent, error) {
	id, _, _ := strings.Cut(clientSecret, "_secret_")
	p, err := find[paymentIntent](w, id)
	if err == nil && p.ClientSecret != clientSecret {
		return nil, w.missing("pi", id)
	}
	return p, err
}

// FailNextPayment has the next payment of a customer declined, whatever its card.
func (s *Sandbox) FailNextPayment(customerID string) error {
	return s.act(func(w *work) (any, error) {
		c, err := w.livingCustomer(customerID)
		if err != nil {
			return nil, err
		}
		c.FailNext++
		return nil, w.save(c)
	})
}
