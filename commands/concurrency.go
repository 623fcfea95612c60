package commands

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/recital-tts/recital/domain/plan"
)

// Slots limits how many syntheses of an account run at once, by its plan. It counts those of this instance: each instance
// counts its own, so that nothing is asked of others before audio flows. A nil Slots limits nothing.
type Slots struct {
	limits map[plan.Type]int

	mu       sync.Mutex
	accounts map[string]*crowd // those with a limited synthesis, and no others
}

// crowd are the syntheses of an account.
type crowd struct {
	taken   int
	waiting []*waiter // in the order in which they came; only while slots are taken
}

// waiter waits for a slot of its account.
type waiter struct {
	limit   int
	granted chan struct{} // closed when the waiter has its slot
	current int           // readable after granted
}

// NewSlots makes Slots with limits by plan. A plan that has none, or 0, is not limited.
func NewSlots(limits map[plan.Type]int) *Slots {
	return &Slots{limits: limits, accounts: map[string]*crowd{}}
}

// BusyError refuses a synthesis because as many of the account run as its plan permits at once.
type BusyError struct{ Limit int }

func (e *BusyError) Error() string {
	return fmt.Sprintf("the account already has as many syntheses at once as its plan permits: %d", e.Limit)
}

// Slot is the right to run one synthesis, until Release. A nil Slot is that of an account without a limit.
type Slot struct {
	slots   *Slots
	account string
	current int
	limit   int
	once    sync.Once
}

// Try takes a slot, or refuses with a *BusyError.
func (s *Slots) Try(account string, on plan.Type) (*Slot, error) {
	limit := s.limit(on)
	if limit == 0 {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.crowd(account)
	if c.taken >= limit {
		return nil, &BusyError{Limit: limit}
	}
	c.taken++
	return &Slot{slots: s, account: account, current: c.taken, limit: limit}, nil
}

// Take waits for a slot, first come, first served, until ctx ends.
func (s *Slots) Take(ctx context.Context, account string, on plan.Type) (*Slot, error) {
	limit := s.limit(on)
	if limit == 0 {
		return nil, nil
	}
	w := s.queue(account, limit)
	select {
	case <-w.granted:
	case <-ctx.Done():
		if s.leave(account, w) {
			return nil, fmt.Errorf("waiting for a synthesis to end: %w", context.Cause(ctx))
		}
	}
	return &Slot{slots: s, account: account, current: w.current, limit: limit}, nil
}

// limit is 0 for none.
func (s *Slots) limit(on plan.Type) int {
	if s == nil {
		return 0
	}
	return max(0, s.limits[on])
}

// crowd is the account's, made where there is none. The caller holds the lock and puts something into it.
func (s *Slots) crowd(account string) *crowd {
	c, known := s.accounts[account]
	if !known {
		c = &crowd{}
		s.accounts[account] = c
	}
	return c
}

func (s *Slots) queue(account string, limit int) *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &waiter{limit: limit, granted: make(chan struct{})}
	c := s.crowd(account)
	c.waiting = append(c.waiting, w)
	c.grant()
	return w
}

// leave takes a waiter out of the queue. It is false for one that has its slot already.
func (s *Slots) leave(account string, w *waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, known := s.accounts[account]
	if !known {
		return false
	}
	i := slices.Index(c.waiting, w)
	if i < 0 {
		return false
	}
	c.waiting = slices.Delete(c.waiting, i, i+1)
	c.grant() // a plan that changed meanwhile gives those behind another limit
	return true
}

func (s *Slots) release(account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.accounts[account]
	c.taken--
	c.grant()
	if c.taken == 0 {
		delete(s.accounts, account) // nobody waits while nothing is taken
	}
}

// grant gives slots that are free to those who wait.
func (c *crowd) grant() {
	for len(c.waiting) > 0 && c.taken < c.waiting[0].limit {
		c.taken++
		c.waiting[0].current = c.taken
		close(c.waiting[0].granted)
		c.waiting = slices.Delete(c.waiting, 0, 1)
	}
}

// Release gives the slot back. Doing it again changes nothing.
func (s *Slot) Release() {
	if s == nil {
		return
	}
	s.once.Do(func() { s.slots.release(s.account) })
}

// Concurrency is how many syntheses of the account ran when the slot was taken, this one included, and how many its plan
// permits; 0 and 0 where it permits any number.
func (s *Slot) Concurrency() (current, limit int) {
	if s == nil {
		return 0, 0
	}
	return s.current, s.limit
}
