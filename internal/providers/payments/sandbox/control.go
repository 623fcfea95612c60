package sandbox

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/recital-tts/recital/internal/providers/payments/sandbox/store"
)

// order is the body of a request to the control.
type order struct {
	Duration      span      `json:"duration"`
	Customer      string    `json:"customer"`
	ClientSecret  string    `json:"client_secret"`
	PaymentMethod string    `json:"payment_method"`
	Approved      bool      `json:"approved"`
	Invoice       string    `json:"invoice"`
	Amount        int64     `json:"amount"`
	Dispute       string    `json:"dispute"`
	Won           bool      `json:"won"`
	Event         string    `json:"event"`
	Faults        []faultIn `json:"faults"`
	disorderIn
}

// span is a duration such as "720h".
type span time.Duration

// MarshalText implements encoding.TextMarshaler.
func (s span) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *span) UnmarshalText(raw []byte) error {
	d, err := time.ParseDuration(string(raw))
	*s = span(d)
	return err
}

type faultIn struct {
	Do        string `json:"do"`
	Committed bool   `json:"committed"`
	Method    string `json:"method"`
	Path      string `json:"path"`
	Times     int    `json:"times"`
	Delay     span   `json:"delay"`
}

type disorderIn struct {
	Hold      bool `json:"hold"`
	Lose      int  `json:"lose"`
	Duplicate int  `json:"duplicate"`
	Shuffle   bool `json:"shuffle"`
	Delay     span `json:"delay"`
}

// Status is what a sandbox is doing.
type Status struct {
	URL             string    `json:"url"`
	Now             time.Time `json:"now"`
	Ahead           string    `json:"ahead"` // of real time, such as "720h0m0s"
	WebhookURL      string    `json:"webhook_url"`
	PendingWebhooks int       `json:"pending_webhooks"`
	Faults          int       `json:"faults"`
	Customers       int       `json:"customers"`
	Subscriptions   int       `json:"subscriptions"` // that have not ended
	// PaymentMethod is the id of the card that the order has registered; "" after any other.
	PaymentMethod string `json:"payment_method_id,omitempty"`
}

// Status returns what the sandbox is doing.
func (s *Sandbox) Status() (Status, error) {
	now := s.Now()
	status := Status{
		URL: s.URL(), Now: now, Ahead: time.Until(now).Round(time.Second).String(), WebhookURL: s.deliveries.target(),
		Faults: len(s.faults.list()),
	}
	err := s.store.Update(func(tx *store.Tx) error {
		w := s.work(tx)
		waiting, err := list[delivery](w, "")
		if err != nil {
			return err
		}
		customers, err := list[customer](w, "")
		if err != nil {
			return err
		}
		subscriptions, err := list[subscription](w, "")
		status.PendingWebhooks, status.Customers = len(waiting), len(customers)
		for _, sub := range subscriptions {
			if !sub.over() {
				status.Subscriptions++
			}
		}
		return err
	})
	return status, err
}

// Control serves what drives the sandbox: requests with JSON bodies, each of which is answered with the Status. Its paths
// begin where it is mounted. It is for operators: it asks for no key.
func (s *Sandbox) Control() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /status", s.controlled(func(*http.Request, order) error { return nil }))
	for name, do := range map[string]func(*http.Request, order) error{
		"advance":           func(_ *http.Request, o order) error { return s.Advance(time.Duration(o.Duration)) },
		"fail-next-payment": func(_ *http.Request, o order) error { return s.FailNextPayment(o.Customer) },
		"confirm":           func(_ *http.Request, o order) error { return s.Confirm(o.ClientSecret, o.PaymentMethod) },
		"authenticate":      func(_ *http.Request, o order) error { return s.Authenticate(o.ClientSecret, o.Approved) },
		"refund":            func(_ *http.Request, o order) error { return s.Refund(o.Invoice, o.Amount) },
		"dispute":           func(_ *http.Request, o order) error { _, err := s.Dispute(o.Invoice); return err },
		"close-dispute":     func(_ *http.Request, o order) error { return s.CloseDispute(o.Dispute, o.Won) },
		"deliver":           func(r *http.Request, o order) error { return s.Deliver(r.Context(), o.Event) },
		"faults":            func(_ *http.Request, o order) error { return s.orderFaults(o.Faults) },
		"webhooks":          func(_ *http.Request, o order) error { s.orderDisorder(o.disorderIn); return nil },
	} {
		mux.Handle("POST /"+name, s.controlled(do))
	}
	return mux
}

func (s *Sandbox) orderFaults(all []faultIn) error {
	faults := make([]Fault, 0, len(all))
	for _, f := range all {
		faults = append(faults, Fault{
			Do: f.Do, Committed: f.Committed, Method: f.Method, Path: f.Path, Times: f.Times, Delay: time.Duration(f.Delay),
		})
	}
	return s.Faults(faults...)
}

func (s *Sandbox) orderDisorder(d disorderIn) {
	s.Disorder(Disorder{Hold: d.Hold, Lose: d.Lose, Duplicate: d.Duplicate, Shuffle: d.Shuffle, Delay: time.Duration(d.Delay)})
}

// controlled carries out an order.
func (s *Sandbox) controlled(do func(*http.Request, order) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var o order
		if r.Method == http.MethodPost {
			decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&o); err != nil {
				respond(w, failure(invalid("", "", "The body is not an order: %v", err)))
				return
			}
		}
		respond(w, s.outcome(do(r, o), o.ClientSecret))
	})
}

// registeredCard returns the id of the payment method that a setup intent has registered, "" before it has.
func (s *Sandbox) registeredCard(clientSecret string) (id string, err error) {
	err = s.store.Update(func(tx *store.Tx) error {
		i, err := s.work(tx).setupOf(clientSecret)
		if err == nil && i.Status == succeeded {
			id = string(i.PaymentMethod)
		}
		return err
	})
	return id, err
}

// outcome returns the reply to an order.
func (s *Sandbox) outcome(err error, clientSecret string) reply {
	var status Status
	if err == nil {
		status, err = s.Status()
	}
	if err == nil && isSetup(clientSecret) {
		status.PaymentMethod, err = s.registeredCard(clientSecret)
	}
	var refused *problem
	if err != nil && !errors.As(err, &refused) {
		err = invalid("", "", "%v", err)
	}
	if err != nil {
		return failure(err)
	}
	body, err := json.Marshal(status)
	if err != nil {
		return failure(err)
	}
	return reply{Status: http.StatusOK, Body: body}
}

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
