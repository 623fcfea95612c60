package installed

import (
	"cmp"
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
	waiting    []*waiter      // in the order of their arrival
	turns      int            // counts the turns of accounts
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
	isNew   bool
	turn    int           // of its account
	granted chan struct{} // closed when it has a place
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
	p.turns++
	w := &waiter{account: account, of: s, isNew: isNew, turn: p.turns, granted: make(chan struct{})}
	for _, other := range p.waiting {
		if other.account == account {
			w.turn = other.turn
		}
	}
	p.waiting = append(p.waiting, w)
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
	p.remove(w)
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
		p.turns++ // its account becomes the last in turn
		for _, other := range p.waiting {
			if other.account == w.account {
				other.turn = p.turns
			}
		}
		w.of.taken++
		p.held[w.account]++
		close(w.granted)
	}
}

// next returns the next waiter, nil if there is none. It passes over waiters for models without a free place.
func (p *places) next() (next *waiter) {
	for _, w := range p.waiting {
		if !w.of.isFull() && (next == nil || p.isBefore(w, next)) {
			next = w
		}
	}
	return next
}

// isBefore reports whether a waiter is served before one that came earlier.
func (p *places) isBefore(w, earlier *waiter) bool {
	if !w.isNew || !earlier.isNew {
		return !w.isNew && earlier.isNew
	}
	return cmp.Or(p.held[w.account]-p.held[earlier.account], w.turn-earlier.turn) < 0
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

// remove removes a waiter.
func (p *places) remove(w *waiter) {
	i := slices.Index(p.waiting, w)
	p.waiting = slices.Delete(p.waiting, i, i+1)
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
