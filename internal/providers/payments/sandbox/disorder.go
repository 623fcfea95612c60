package sandbox

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/recital-tts/recital/internal/providers/payments/sandbox/store"
)

// Disorder is how webhooks come other than once, at once and in their order. The zero value is order.
type Disorder struct {
	Hold      bool          // none is sent: they wait
	Lose      int           // of a hundred, how many are never sent
	Duplicate int           // of a hundred, how many are sent twice
	Shuffle   bool          // those that wait are sent in any order
	Delay     time.Duration // before each is sent first
}

// Disorder sets how webhooks come from now on.
func (s *Sandbox) Disorder(d Disorder) {
	s.deliveries.mu.Lock()
	s.deliveries.disorder = d
	s.deliveries.mu.Unlock()
	s.deliveries.wake()
}

// Pending returns the ids of the events whose webhooks have not been acknowledged, oldest first.
func (s *Sandbox) Pending() ([]string, error) {
	waiting, err := s.waiting()
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(waiting))
	for _, d := range waiting {
		ids = append(ids, d.Event)
	}
	return ids, nil
}

// Deliver sends the webhook of an event now, whether or not it was sent before.
func (s *Sandbox) Deliver(ctx context.Context, eventID string) error {
	if err := s.send(ctx, eventID); err != nil {
		return err
	}
	return s.store.Update(func(tx *store.Tx) error { return s.work(tx).delivered(eventID, true) })
}

// Lose has the webhook of an event never sent.
func (s *Sandbox) Lose(eventID string) error {
	return s.store.Update(func(tx *store.Tx) error { return s.work(tx).delivered(eventID, false) })
}

// strikes reports whether something befalls one of those that it befalls in a hundred.
func strikes(ofHundred int) bool { return rand.IntN(100) < ofHundred }
