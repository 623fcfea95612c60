package installed

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/recital-tts/recital/internal/speech"
)

// places are those of a voice's streams, shared fairly by accounts: one that becomes free goes to the waiting account
// that has the fewest, in turn among equals. What goes on has precedence over what is new. Whoever has a place keeps
// it.
type places struct {
	mu      sync.Mutex
	total   int
	held    map[string]int // by account; those that have one
	ongoing []*waiter      // for streams that go on
	waiting []*crowd       // for new streams, in turn
}

// waiter waits for a place.
type waiter struct {
	account string
	granted chan struct{} // closed when it has one
}

// crowd is the waiters of an account, in order; there is at least one.
type crowd struct {
	account string
	waiters []*waiter
}

func newPlaces(total int) *places { return &places{total: total, held: map[string]int{}} }

// try takes a place at once, if there is one.
func (p *places) try(account string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken() == p.total { // otherwise nobody waits
		return false
	}
	p.held[account]++
	return true
}

// wait takes a place, for a new stream or one that goes on. It returns speech.ErrEngineBusy when it has waited longer
// than patience, if that is not 0.
func (p *places) wait(ctx context.Context, account string, isNew bool, patience time.Duration) error {
	if patience > 0 {
		impatient, cancel := context.WithTimeoutCause(ctx, patience, speech.ErrEngineBusy)
		defer cancel()
		ctx = impatient
	}
	w := p.queue(account, isNew)
	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
		if !p.leave(w) {
			return nil
		}
		return context.Cause(ctx)
	}
}

func (p *places) queue(account string, isNew bool) *waiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := &waiter{account: account, granted: make(chan struct{})}
	at := slices.IndexFunc(p.waiting, func(c *crowd) bool { return c.account == account })
	switch {
	case !isNew:
		p.ongoing = append(p.ongoing, w)
	case at < 0:
		p.waiting = append(p.waiting, &crowd{account: account, waiters: []*waiter{w}})
	default:
		p.waiting[at].waiters = append(p.waiting[at].waiters, w)
	}
	p.grant()
	return w
}

// leave removes a waiter. It returns false if the waiter has a place.
func (p *places) leave(w *waiter) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.ongoing, w); i >= 0 {
		p.ongoing = slices.Delete(p.ongoing, i, i+1)
		return true
	}
	for at, c := range p.waiting {
		if i := slices.Index(c.waiters, w); i >= 0 {
			if c.waiters = slices.Delete(c.waiters, i, i+1); len(c.waiters) == 0 {
				p.waiting = slices.Delete(p.waiting, at, at+1)
			}
			return true
		}
	}
	return false
}

// give gives a place back.
func (p *places) give(account string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held[account]--; p.held[account] == 0 {
		delete(p.held, account)
	}
	p.grant()
}

// grant passes free places to waiters.
func (p *places) grant() {
	for p.taken() < p.total {
		w := p.next()
		if w == nil {
			return
		}
		p.held[w.account]++
		close(w.granted)
	}
}

// next removes the waiter whose turn it is; nil if there is none.
func (p *places) next() (w *waiter) {
	if len(p.ongoing) > 0 {
		w = p.ongoing[0]
		p.ongoing = slices.Delete(p.ongoing, 0, 1)
		return w
	}
	if len(p.waiting) == 0 {
		return nil
	}
	of := slices.MinFunc(p.waiting, func(a, b *crowd) int { return p.held[a.account] - p.held[b.account] })
	w = of.waiters[0]
	of.waiters = slices.Delete(of.waiters, 0, 1)
	p.waiting = slices.DeleteFunc(p.waiting, func(c *crowd) bool { return c == of })
	if len(of.waiters) > 0 {
		p.waiting = append(p.waiting, of)
	}
	return w
}

func (p *places) taken() (sum int) {
	for _, n := range p.held {
		sum += n
	}
	return sum
}

// inUse returns how many places are taken.
func (p *places) inUse() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken()
}
