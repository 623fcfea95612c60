package installed

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/recital-tts/recital/internal/speech"
)

// places are the places of all voices' streams, shared fairly by accounts: a free one goes to the waiting account with
// the fewest, in turn among equals. Streams in progress have precedence over new ones. A place is never withdrawn. A
// stream that needs more than is free is not overtaken by those that need less.
type places struct {
	mu         sync.Mutex
	processors float64 // available to all streams together
	shares     []*share
	held       map[string]int // number of places by account
	ongoing    []*waiter      // for streams in progress
	waiting    []*crowd       // for new streams, in turn
}

// share is the places of a model.
type share struct {
	places, taken int
	cost          float64 // seconds of a processor for a second of a stream
}

func (s *share) isFull() bool { return s.taken >= s.places }

// waiter is a stream that waits for a place.
type waiter struct {
	account string
	of      *share
	granted chan struct{} // closed when it has a place
}

// crowd is the waiters of an account, in order; there is at least one.
type crowd struct {
	account string
	waiters []*waiter
}

func newPlaces(processors float64) *places {
	return &places{processors: processors, held: map[string]int{}}
}

// open adds a share without places.
func (p *places) open() *share {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &share{}
	p.shares = append(p.shares, s)
	return s
}

// resize changes the places of a share. Taken ones are kept.
func (p *places) resize(s *share, places int, cost float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.places, s.cost = places, cost
	p.grant()
}

// close removes a share. Its streams and waiters no longer need a place.
func (p *places) close(s *share) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.places, s.cost = math.MaxInt, 0
	p.shares = slices.DeleteFunc(p.shares, func(other *share) bool { return other == s })
	p.grant()
}

// total returns the places of a share.
func (p *places) total(s *share) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return s.places
}

// try takes a place if one is free.
func (p *places) try(s *share, account string) bool {
	w := p.queue(s, account, true)
	return !p.leave(w)
}

// wait waits for a place for a new stream or one in progress. It returns speech.ErrEngineBusy after patience, unless
// patience is 0.
func (p *places) wait(
	ctx context.Context, s *share, account string, isNew bool, patience time.Duration,
) error {
	if patience > 0 {
		impatient, cancel := context.WithTimeoutCause(ctx, patience, speech.ErrEngineBusy)
		defer cancel()
		ctx = impatient
	}
	w := p.queue(s, account, isNew)
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

func (p *places) queue(s *share, account string, isNew bool) *waiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := &waiter{account: account, of: s, granted: make(chan struct{})}
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
	select {
	case <-w.granted:
		return false
	default:
	}
	p.ongoing = slices.DeleteFunc(p.ongoing, func(other *waiter) bool { return other == w })
	for _, c := range p.waiting {
		c.waiters = slices.DeleteFunc(c.waiters, func(other *waiter) bool { return other == w })
	}
	p.waiting = slices.DeleteFunc(p.waiting, func(c *crowd) bool { return len(c.waiters) == 0 })
	p.grant()
	return true
}

// give gives a place back.
func (p *places) give(s *share, account string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.taken--
	if p.held[account]--; p.held[account] == 0 {
		delete(p.held, account)
	}
	p.grant()
}

// grant passes free places to waiters.
func (p *places) grant() {
	for w := p.next(); w != nil && p.fits(w.of); w = p.next() {
		p.remove(w)
		w.of.taken++
		p.held[w.account]++
		close(w.granted)
	}
}

// next returns the next waiter, nil if there is none. It passes over waiters for models without a free place.
func (p *places) next() *waiter {
	if w := first(p.ongoing); w != nil {
		return w
	}
	var next *waiter
	for _, c := range p.waiting {
		if w := first(c.waiters); w != nil && (next == nil || p.held[c.account] < p.held[next.account]) {
			next = w
		}
	}
	return next
}

// first returns the first waiter for a model with a free place, nil if there is none.
func first(waiters []*waiter) *waiter {
	for _, w := range waiters {
		if !w.of.isFull() {
			return w
		}
	}
	return nil
}

// fits reports whether there are processors for one more stream. It is always true for a single stream and for a free
// one.
func (p *places) fits(s *share) bool {
	const rounding = 1e-9
	load := 0.0
	for _, other := range p.shares {
		load += float64(other.taken) * other.cost
	}
	return load == 0 || s.cost == 0 || load+s.cost <= p.processors+rounding
}

// remove removes a waiter that has received a place. Its account becomes the last in turn.
func (p *places) remove(w *waiter) {
	if i := slices.Index(p.ongoing, w); i >= 0 {
		p.ongoing = slices.Delete(p.ongoing, i, i+1)
		return
	}
	at := slices.IndexFunc(p.waiting, func(c *crowd) bool { return c.account == w.account })
	c := p.waiting[at]
	c.waiters = slices.DeleteFunc(c.waiters, func(other *waiter) bool { return other == w })
	p.waiting = slices.Delete(p.waiting, at, at+1)
	if len(c.waiters) > 0 {
		p.waiting = append(p.waiting, c)
	}
}

// inUse returns the number of taken places, and of all.
func (p *places) inUse() (taken, places int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.shares {
		taken, places = taken+s.taken, places+s.places
	}
	return taken, places
}
