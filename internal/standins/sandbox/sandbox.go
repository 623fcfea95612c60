// Package sandbox is a payment provider for development. It speaks the part of the Stripe API that Recital uses, over
// HTTP on a loopback address, as version APIVersion of it does; it keeps its state in a file, sends signed webhooks,
// and has a clock that can be advanced. Unknown parameters are refused.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/recital-tts/recital/internal/process/lifecycle"
	"github.com/recital-tts/recital/internal/standins"
)

// APIVersion is the version of the API that the sandbox speaks.
const APIVersion = "2026-02-25.clover"

// Config is what a sandbox needs.
type Config struct {
	File          string // of the state; is made if it does not exist; of one process at a time
	Address       string // on loopback; if its port is taken, a free one is used. "" means any free port
	Key           string // that requests carry as a bearer token
	WebhookSecret string // signs webhooks
	WebhookURL    string // where webhooks go; SetWebhookURL sets it later. They are kept while it is ""
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

// Open starts a sandbox, which serves until Close.
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
	s.deliveries.init(s.config.WebhookURL)
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

// SetWebhookURL sets where webhooks go.
func (s *Sandbox) SetWebhookURL(url string) { s.deliveries.setURL(url) }

const stopTimeout = 5 * time.Second

// Close ends the sandbox. Requests have a few seconds to end.
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
