package sandbox

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const clockSetting = "clock"

// clock shows real time plus what it was advanced by.
type clock struct {
	mu     sync.Mutex
	ahead  time.Duration
	turned sync.Mutex // held while due work is done
}

func (c *clock) load(tx *transaction) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tx.setting(clockSetting, &c.ahead)
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead).UTC()
}

// reach sets the clock to t, unless it is later.
func (c *clock) reach(t time.Time, tx *transaction) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead = max(c.ahead, time.Until(t))
	tx.setSetting(clockSetting, c.ahead)
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
	err := s.store.update(func(tx *transaction) error {
		s.clock.reach(target, tx)
		return nil
	})
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

// doDue does what is due at a time, each at its own time.
func (s *Sandbox) doDue(until time.Time) error {
	s.clock.turned.Lock()
	defer s.clock.turned.Unlock()
	for more := true; more; {
		err := s.store.update(func(tx *transaction) (err error) {
			more, err = s.doFirst(tx, until)
			return err
		})
		if err != nil {
			return err
		}
		s.deliveries.wake()
	}
	return nil
}

// doFirst does what is due first until a time. It reports whether there was anything.
func (s *Sandbox) doFirst(tx *transaction, until time.Time) (bool, error) {
	key, due := tx.firstDue("in", scheduleKind, "sub")
	if key == "" || due.After(until) {
		return false, nil
	}
	s.clock.reach(due, tx)
	w := s.work(tx)
	w.now = due
	switch kindOf(key) {
	case "sub":
		w.subscriptionDue(key)
	case scheduleKind:
		w.scheduleDue("sub_" + key)
	default:
		_, err := w.finalizeAndCollect(key)
		return true, err
	}
	return true, nil
}
