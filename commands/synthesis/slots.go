package synthesis

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/recital-tts/recital/domain/plan"
)

// Slots limits the concurrent syntheses of an account, by its plan. Each instance counts only its own, so that no other
// instance need be consulted before audio is sent. A nil Slots has no limit.
type Slots struct {
	limits map[plan.Type]int

	mu       sync.Mutex
	accounts map[string]*accountSlots // only accounts with a running, limited synthesis
}

// accountSlots counts the syntheses of an account.
type accountSlots struct {
	taken   int
	waiting []*waiter // in order of arrival; empty unless all slots are taken
}

// waiter waits for a slot of its account.
type waiter struct {
	limit   int
	granted chan struct{} // closed when the waiter gets its slot
	current int           // readable after granted
}

// NewSlots returns Slots with limits by plan. A plan without a limit, or with 0, is not limited.
func NewSlots(limits map[plan.Type]int) *Slots {
	return &Slots{limits: limits, accounts: map[string]*accountSlots{}}
}

// BusyError refuses a synthesis because the account runs the maximum of its plan.
type BusyError struct{ Limit int }

func (e *BusyError) Error() string {
	return fmt.Sprintf("the account already has the maximum number of concurrent syntheses of its plan: %d", e.Limit)
}

// Slot is the right to run one synthesis, until Release. A nil Slot belongs to an account without a limit.
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
	c := s.of(account)
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

// limit returns 0 if there is no limit.
func (s *Slots) limit(on plan.Type) int {
	if s == nil {
		return 0
	}
	return max(0, s.limits[on])
}

// of returns the slots of an account, which it creates if necessary. The caller holds the lock and adds an element.
func (s *Slots) of(account string) *accountSlots {
	c, known := s.accounts[account]
	if !known {
		c = &accountSlots{}
		s.accounts[account] = c
	}
	return c
}

func (s *Slots) queue(account string, limit int) *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &waiter{limit: limit, granted: make(chan struct{})}
	c := s.of(account)
	c.waiting = append(c.waiting, w)
	c.grant()
	return w
}

// leave removes a waiter from the queue. It returns false if the waiter already has its slot.
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
	c.grant() // waiters behind may have a higher limit after a change of plan
	return true
}

func (s *Slots) release(account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.accounts[account]
	c.taken--
	c.grant()
	if c.taken == 0 {
		delete(s.accounts, account) // there is no waiter while no slot is taken
	}
}

// grant passes free slots to waiters.
func (c *accountSlots) grant() {
	for len(c.waiting) > 0 && c.taken < c.waiting[0].limit {
		c.taken++
		c.waiting[0].current = c.taken
		close(c.waiting[0].granted)
		c.waiting = slices.Delete(c.waiting, 0, 1)
	}
}

// Release gives the slot back. Calling it again has no effect.
func (s *Slot) Release() {
	if s == nil {
		return
	}
	s.once.Do(func() { s.slots.release(s.account) })
}

// Concurrency returns the number of concurrent syntheses of the account when the slot was taken, including this one,
// and the maximum of its plan; both are 0 if there is no limit.
func (s *Slot) Concurrency() (current, limit int) {
	if s == nil {
		return 0, 0
	}
	return s.current, s.limit
}
