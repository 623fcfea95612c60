// Package sandbox implements a payment provider for development. It serves the part of the Stripe API that Recital
// uses, in version APIVersion, over HTTP on a loopback address. It keeps its state in a file, sends signed webhooks,
// and has a clock that can be advanced. It refuses unknown parameters.
package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/recital-tts/recital/internal/process/lifecycle"
	"github.com/recital-tts/recital/internal/standins"
)

// APIVersion is the version of the Stripe API that the sandbox implements.
const APIVersion = "2026-02-25.clover"

// Config configures a sandbox.
type Config struct {
	File          string // state file, used by one process at a time; created if it does not exist
	Address       string // on loopback; if its port is in use, another one is chosen. "" means any free port
	Key           string // bearer token of requests
	WebhookSecret string // signs webhooks
	WebhookURL    string // destination of webhooks, which wait while it is "". SetWebhookURL changes it
	Logger        *slog.Logger
}

// Sandbox is a running provider. It is safe for concurrent use.
type Sandbox struct {
	config     Config
	store      *store
	clock      clock
	faults     faults
	deliveries deliveries
	address    string
	server     *http.Server
	parts      lifecycle.Group
}

// Open starts a sandbox, which runs until Close.
func Open(config Config) (*Sandbox, error) {
	if config.Key == "" || config.WebhookSecret == "" {
		return nil, errors.New("the payment sandbox needs a key and a webhook secret")
	}
	store, err := openStore(config.File)
	if err != nil {
		return nil, fmt.Errorf("opening the payment sandbox: %w", err)
	}
	s := &Sandbox{config: config, store: store}
	if err := s.start(); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the payment sandbox: %w", err), store.close())
	}
	return s, nil
}

func (s *Sandbox) start() error {
	s.deliveries.init(&s.config.WebhookURL)
	err := s.store.update(func(tx *transaction) error {
		s.clock.load(tx)
		w := s.work(tx)
		w.seed()
		w.forgetOld()
		return nil
	})
	if err != nil {
		return err
	}
	listener, err := standins.Listen(s.config.Address)
	if err != nil {
		return err
	}
	s.address = listener.Addr().String()
	s.server = &http.Server{Handler: s.handler(), ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute}
	go func() {
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.config.Logger.Error("the payment sandbox no longer serves", "error", err)
		}
	}()
	s.parts.Add(
		lifecycle.Background("the clock", s.keepTime),
		lifecycle.Background("the webhooks", s.deliver))
	return nil
}

// URL returns the base address of the API.
func (s *Sandbox) URL() string { return "http://" + s.address }

// SetWebhookURL sets the destination of webhooks.
func (s *Sandbox) SetWebhookURL(url string) { s.deliveries.setURL(url) }

const stopTimeout = 5 * time.Second

// Close stops the sandbox. Running requests get a few seconds to finish.
func (s *Sandbox) Close() error {
	s.faults.set(nil)
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = s.server.Close()
	}
	return errors.Join(err, s.parts.Stop(), s.store.close())
}

// order is the body of a request to Control.
type order struct {
	Duration      standins.Span `json:"duration"`
	Customer      string        `json:"customer"`
	ClientSecret  string        `json:"client_secret"`
	PaymentMethod string        `json:"payment_method"`
	Approved      bool          `json:"approved"`
	Invoice       string        `json:"invoice"`
	Amount        int64         `json:"amount"`
	Dispute       string        `json:"dispute"`
	Won           bool          `json:"won"`
	Event         string        `json:"event"`
	Faults        []Fault       `json:"faults"`
	Disorder
}

// Status returns the sandbox's state.
func (s *Sandbox) Status() (standins.Status, error) { return s.statusAfter("") }

// statusAfter returns the status after an order with a client secret, which may be "".
func (s *Sandbox) statusAfter(clientSecret string) (standins.Status, error) {
	now := s.Now()
	status := standins.Status{
		URL: s.URL(), Now: now, Ahead: time.Until(now).Round(time.Second).String(), WebhookURL: s.deliveries.target(),
		Faults: s.faults.open(),
	}
	return look(s, func(w *work) (standins.Status, error) {
		status.PendingWebhooks, status.Customers = len(list[delivery](w, "")), len(list[customer](w, ""))
		status.Subscriptions = len(slices.DeleteFunc(list[subscription](w, ""), (*subscription).ended))
		i, _ := w.intentOf(clientSecret)
		if registered, ok := i.(*setupIntent); ok && registered != nil && registered.Status == succeeded {
			status.PaymentMethod = string(registered.PaymentMethod)
		}
		return status, nil
	})
}

// Control returns the handler of operators' requests, which have JSON bodies and are answered with the Status. Paths
// are relative to the place where it is mounted. It does not ask for a key.
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
		"faults":            func(_ *http.Request, o order) error { return s.Faults(o.Faults...) },
		"webhooks":          func(_ *http.Request, o order) error { s.Disorder(o.Disorder); return nil },
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

// controlled returns the handler of an order.
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

// act makes a change that has no operation in the API.
func (s *Sandbox) act(do func(*work) (*problem, error)) error {
	var refusal *problem
	err := s.store.update(func(tx *transaction) (err error) {
		refusal, err = do(s.work(tx))
		return err
	})
	s.deliveries.wake()
	if err == nil && refusal != nil {
		return refusal
	}
	return err
}

// Confirm pays a payment intent, or registers a card, as the card's owner does in a browser. method is a payment
// method, the id of a test card such as pm_card_visa, or the number of one. If the card asks for confirmation, the
// intent waits for Authenticate.
func (s *Sandbox) Confirm(clientSecret, method string) error {
	return s.act(func(w *work) (*problem, error) { return w.confirm(clientSecret, method) })
}

// Authenticate answers a card's request for confirmation.
func (s *Sandbox) Authenticate(clientSecret string, approved bool) error {
	return s.act(func(w *work) (*problem, error) { return w.authenticate(clientSecret, approved) })
}

// Refund refunds an amount of an invoice's payment. 0 means all that is left.
func (s *Sandbox) Refund(invoiceID string, amount int64) error {
	return s.act(func(w *work) (*problem, error) {
		id, err := w.chargeOf(invoiceID)
		if err != nil {
			return nil, err
		}
		return nil, w.refund(id, amount)
	})
}

// Dispute disputes an invoice's payment, as the card's owner does, and returns the dispute's id.
func (s *Sandbox) Dispute(invoiceID string) (id string, err error) {
	err = s.act(func(w *work) (*problem, error) {
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

// CloseDispute closes a dispute.
func (s *Sandbox) CloseDispute(id string, won bool) error {
	return s.act(func(w *work) (*problem, error) { return nil, w.closeDispute(id, won) })
}

// FailNextPayment makes the next payment of a customer fail, with any card.
func (s *Sandbox) FailNextPayment(customerID string) error {
	return s.act(func(w *work) (*problem, error) {
		c, err := w.livingCustomer(customerID)
		if err == nil {
			s.faults.failNext(c.ID)
		}
		return nil, err
	})
}
