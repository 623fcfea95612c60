package sandbox

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/recital-tts/recital/internal/providers/payments/sandbox/store"
)

const clockSetting = "clock"

// clock is real time and what it was advanced by.
type clock struct {
	mu     sync.Mutex
	ahead  time.Duration
	turned sync.Mutex // while things that are due are done
}

func (c *clock) load(tx *store.Tx) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return tx.Setting(clockSetting, &c.ahead)
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead).UTC()
}

// reach keeps that it is t, unless it is later.
func (c *clock) reach(t time.Time, tx *store.Tx) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead = max(c.ahead, time.Until(t))
	return tx.SetSetting(clockSetting, c.ahead)
}

// Now returns the sandbox's time.
func (s *Sandbox) Now() time.Time { return s.clock.now() }

// Advance advances the clock, and does whatever is due until then in its order.
func (s *Sandbox) Advance(d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("the clock cannot go back by %s", -d)
	}
	target := s.clock.now().Add(d)
	if err := s.doDue(target); err != nil {
		return err
	}
	err := s.store.Update(func(tx *store.Tx) error { return s.clock.reach(target, tx) })
	s.deliveries.wake()
	return err
}

// keepTime does what is due as time goes by.
func (s *Sandbox) keepTime(ctx context.Context) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		if err := s.doDue(s.clock.now()); err != nil {
			s.config.Logger.Error("the payment sandbox cannot do what is due", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// dueAtOnce is how many things that are due are done in one transaction.
const dueAtOnce = 64

// doDue does what is due at a time, each as if it were its time.
func (s *Sandbox) doDue(until time.Time) error {
	s.clock.turned.Lock()
	defer s.clock.turned.Unlock()
	for more := true; more; {
		err := s.store.Update(func(tx *store.Tx) (err error) {
			from := time.Unix(0, 0)
			for n := 0; n < dueAtOnce && more && err == nil; n++ {
				from, more, err = s.doFirst(tx, from, until)
			}
			return err
		})
		if err != nil {
			return err
		}
		s.deliveries.wake()
	}
	return nil
}

// doFirst does what is due first in a time. It returns when that was, and whether there was anything.
func (s *Sandbox) doFirst(tx *store.Tx, from, until time.Time) (time.Time, bool, error) {
	id, due, err := tx.FirstDue(clockQueue, from)
	if err != nil || id == "" || due.After(until) {
		return due, false, err
	}
	if err := s.clock.reach(due, tx); err != nil {
		return due, false, err
	}
	w := s.work(tx)
	w.now = due
	return due, true, w.doOne(id)
}

// doOne does what is due about an object.
func (w *work) doOne(id string) error {
	kind, _, _ := strings.Cut(id, "_")
	switch kind {
	case "sub":
		return w.subscriptionDue(id)
	case scheduleKind:
		return w.scheduleDue("sub_" + id)
	case "in":
		return w.invoiceDue(id)
	case "evt":
		return w.eventDue(id)
	default: // a key that is forgotten
		return w.tx.Delete(id)
	}
}
