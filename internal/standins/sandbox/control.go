package sandbox

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/recital-tts/recital/internal/standins"
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
	Disorder
	Delay span `json:"delay"`
}

// span is a duration such as "720h".
type span time.Duration

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

// Status describes a sandbox.
type Status = standins.Status

// Status returns what the sandbox is doing.
func (s *Sandbox) Status() (Status, error) { return s.statusAfter("") }

// statusAfter returns the status after an order about a client secret.
func (s *Sandbox) statusAfter(clientSecret string) (Status, error) {
	now := s.Now()
	status := Status{
		URL: s.URL(), Now: now, Ahead: time.Until(now).Round(time.Second).String(), WebhookURL: s.deliveries.target(),
		Faults: s.faults.open(),
	}
	err := s.read(func(w *work) error {
		status.PendingWebhooks, status.Customers = len(list[delivery](w, "")), len(list[customer](w, ""))
		for _, sub := range list[subscription](w, "") {
			if !sub.ended() {
				status.Subscriptions++
			}
		}
		if i, err := w.setupOf(clientSecret); err == nil && i.Status == succeeded {
			status.PaymentMethod = string(i.PaymentMethod)
		}
		return nil
	})
	return status, err
}

// Control serves what drives the sandbox: requests with JSON bodies, each of which is answered with the Status. Its
// paths begin where it is mounted. It is for operators: it asks for no key.
func (s *Sandbox) Control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /customers", s.controlCustomers)
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
		"webhooks":          func(_ *http.Request, o order) error { s.orderDisorder(o); return nil },
	} {
		mux.Handle("POST /"+name, s.controlled(do))
	}
	return mux
}

func (s *Sandbox) controlCustomers(w http.ResponseWriter, _ *http.Request) {
	customers, err := s.Customers()
	if err != nil {
		respond(w, failure(err))
		return
	}
	respond(w, reply{Status: http.StatusOK, Body: encode(customers)})
}

func (s *Sandbox) orderFaults(all []faultIn) error {
	faults := make([]Fault, 0, len(all))
	for _, f := range all {
		faults = append(faults, Fault{f.Do, f.Committed, f.Method, f.Path, f.Times, time.Duration(f.Delay)})
	}
	return s.Faults(faults...)
}

func (s *Sandbox) orderDisorder(o order) {
	o.Disorder.Delay = time.Duration(o.Delay)
	s.Disorder(o.Disorder)
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

// outcome returns the reply to an order.
func (s *Sandbox) outcome(err error, clientSecret string) reply {
	var refused *problem
	if err != nil && !errors.As(err, &refused) {
		err = invalid("", "", "%v", err)
	}
	if err != nil {
		return failure(err)
	}
	status, err := s.statusAfter(clientSecret)
	if err != nil {
		return failure(err)
	}
	return reply{Status: http.StatusOK, Body: encode(status)}
}

// act does something that no request of the API does.
func (s *Sandbox) act(do func(*work) (any, error)) error {
	var answer any
	err := s.store.update(func(tx *transaction) (err error) {
		answer, err = do(s.work(tx))
		return err
	})
	s.deliveries.wake()
	if refused, ok := answer.(*problem); ok && err == nil {
		return refused
	}
	return err
}

// Confirm pays a payment intent, or registers a card, as the card's owner does in a browser. The method is a payment
// method, the id of a test card such as pm_card_visa, or its number. If the card asks for a confirmation, the intent
// waits for Authenticate.
func (s *Sandbox) Confirm(clientSecret, method string) error {
	return s.act(func(w *work) (any, error) {
		if strings.HasPrefix(clientSecret, "seti_") {
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

// Authenticate answers the confirmation that a card has asked its owner for.
func (s *Sandbox) Authenticate(clientSecret string, approved bool) error {
	return s.act(func(w *work) (any, error) {
		if strings.HasPrefix(clientSecret, "seti_") {
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

// Refund refunds an amount of what was paid for an invoice; 0 means what is left of it.
func (s *Sandbox) Refund(invoiceID string, amount int64) error {
	return s.act(func(w *work) (any, error) {
		id, err := w.chargeOf(invoiceID)
		if err != nil {
			return nil, err
		}
		return nil, w.refund(id, amount)
	})
}

// Dispute disputes what was paid for an invoice, as the card's owner does, and returns the dispute's id.
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
	return s.act(func(w *work) (any, error) { return nil, w.closeDispute(id, won) })
}

// FailNextPayment declines the next payment of a customer, whatever its card.
func (s *Sandbox) FailNextPayment(customerID string) error {
	return s.act(func(w *work) (any, error) {
		c, err := w.livingCustomer(customerID)
		if err == nil {
			s.faults.failNext(c.ID)
		}
		return nil, err
	})
}
