// Package sandbox is a payment provider for development. It speaks the part of the Stripe API that Recital uses, over
// HTTP on a loopback address, as version APIVersion of it does; it keeps what it has in a folder, sends signed webhooks,
// and has a clock that can be advanced. Parameters that it does not know are refused.
package sandbox

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/recital-tts/recital/internal/process/lifecycle"
	"github.com/recital-tts/recital/internal/providers/payments/sandbox/store"
)

// APIVersion is the version of the API that the sandbox speaks.
const APIVersion = "2026-02-25.clover"

// Config is what a sandbox needs.
type Config struct {
	Folder        string // is made if it does not exist; of one process at a time
	Address       string // of loopback; if its port is taken, a free one is used. "" means any free port
	Key           string // that requests carry as a bearer token
	WebhookSecret string // signs webhooks
	WebhookURL    string // where webhooks go; SetWebhookURL sets it later. They are kept while it is ""
	Logger        *slog.Logger
}

// Sandbox is a running provider. Any goroutine may use it.
type Sandbox struct {
	config     Config
	store      *store.Store
	clock      clock
	faults     faults
	deliveries deliveries
	running    keysInUse
	door       *door
	parts      lifecycle.Group
}

// Open starts a sandbox, which serves until Close.
func Open(config Config) (*Sandbox, error) {
	if config.Key == "" || config.WebhookSecret == "" {
		return nil, errors.New("the payment sandbox needs a key and a webhook secret")
	}
	if err := os.MkdirAll(config.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("making the payment sandbox's folder: %w", err)
	}
	kept, err := store.Open(config.Folder, config.Logger)
	if err != nil {
		return nil, fmt.Errorf("opening the payment sandbox: %w", err)
	}
	s := &Sandbox{config: config, store: kept}
	if err := s.start(); err != nil {
		return nil, errors.Join(err, kept.Close())
	}
	return s, nil
}

func (s *Sandbox) start() error {
	s.deliveries.init(s.config.WebhookURL)
	if err := s.store.Update(s.prepare); err != nil {
		return fmt.Errorf("opening the payment sandbox: %w", err)
	}
	door, listener, err := newDoor(s.config.Address, s.config.Logger)
	if err != nil {
		return fmt.Errorf("opening the payment sandbox: %w", err)
	}
	s.door, door.handler = door, s.handler()
	door.serve(listener)
	s.parts.Add(
		lifecycle.Background("the clock", s.keepTime),
		lifecycle.Background("the webhooks", s.deliver))
	return nil
}

// prepare reads the clock and makes what every sandbox has.
func (s *Sandbox) prepare(tx *store.Tx) error {
	if err := s.clock.load(tx); err != nil {
		return err
	}
	return s.seed(s.work(tx))
}

// URL returns the base address of the API.
func (s *Sandbox) URL() string { return "http://" + s.door.address }

// SetWebhookURL sets where webhooks go.
func (s *Sandbox) SetWebhookURL(url string) { s.deliveries.setURL(url) }

// Close ends the sandbox. Requests have a few seconds to end.
func (s *Sandbox) Close() error {
	s.faults.set(nil)
	return errors.Join(s.door.close(), s.parts.Stop(), s.store.Close())
}
