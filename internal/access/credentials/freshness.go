package credentials

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// freshness proves that the subscription is not behind, because a stalled subscription looks like a log without new
// events. The proof is that the log's head was read at a known time and the subscription has delivered it since: then
// no event from before that time is missing. A proof is made on demand, one at a time for all callers, and one a second
// without callers. So a subscription that stalls silently is noticed within the lease, long before keep-alives notice
// it.
type freshness struct {
	log   eventlog.Log
	lease time.Duration // validity of a proof
	wait  time.Duration // for a proof

	ask chan struct{} // has room for one: requests a proof

	mu      sync.Mutex
	live    bool              // caught up since it was last interrupted
	stalled bool              // the last proof failed
	reached eventlog.Position // of the subscription
	proven  time.Time         // no event from before is missing
	seen    time.Time         // the time of the last proof
	changed chan struct{}     // closed at the next change of the above; nil without waiters
}

func newFreshness(log eventlog.Log, start eventlog.Position, lease, wait time.Duration) *freshness {
	return &freshness{log: log, lease: lease, wait: wait, reached: start, ask: make(chan struct{}, 1)}
}

// current reports whether all events older than a lease have been delivered. It waits for a proof if one is possible.
func (f *freshness) current(ctx context.Context) bool {
	arrival := time.Now()
	return f.provenAt(arrival) || f.await(ctx, arrival.Add(-f.lease))
}

// now is current without waiting.
func (f *freshness) now() bool { return f.provenAt(time.Now()) }

func (f *freshness) provenAt(t time.Time) bool {
	f.mu.Lock()
	age := t.Sub(f.proven)
	proven := f.live && age <= f.lease
	f.mu.Unlock()
	if proven && age > f.lease/2 {
		f.nudge() // so that the next callers do not wait
	}
	return proven
}

func (f *freshness) await(ctx context.Context, since time.Time) bool {
	patience := time.NewTimer(f.wait)
	defer patience.Stop()
	for {
		f.mu.Lock()
		proven, hopeless, changed := f.live && !f.proven.Before(since), !f.live || f.stalled, f.waiting()
		f.mu.Unlock()
		if proven {
			return true
		}
		f.nudge()
		if hopeless {
			return false
		}
		select {
		case <-changed:
		case <-patience.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

func (f *freshness) nudge() {
	select {
	case f.ask <- struct{}{}:
	default:
	}
}

// provenEvery is the interval of proofs without callers.
const provenEvery = time.Second

// run makes proofs, until ctx ends.
func (f *freshness) run(ctx context.Context) {
	idle := time.NewTicker(provenEvery)
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.ask:
		case <-idle.C:
		}
		begun, err := f.prove(ctx)
		if ctx.Err() != nil {
			return
		}
		f.change(func() {
			f.stalled = err != nil
			if err == nil {
				f.proven, f.seen = begun, begun
			}
		})
	}
}

var errPutBack = errors.New("the log's head is before what the subscription has delivered")

// prove waits until all events in the log at its start have been delivered.
func (f *freshness) prove(ctx context.Context) (begun time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, f.wait)
	defer cancel()
	before, _ := f.position()
	begun = time.Now()
	head, err := f.log.Head(ctx)
	if err != nil {
		return begun, err
	}
	if head.Compare(before) < 0 {
		return begun, errPutBack
	}
	for {
		reached, changed := f.position()
		if reached.Compare(head) >= 0 {
			return begun, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return begun, ctx.Err()
		}
	}
}

func (f *freshness) position() (eventlog.Position, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reached, f.waiting()
}

// waiting returns the channel that is closed at the next change. The caller holds mu.
func (f *freshness) waiting() <-chan struct{} {
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	return f.changed
}

// lastSeen returns the time of the last proof.
func (f *freshness) lastSeen() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen
}

func (f *freshness) reach(position eventlog.Position) { f.change(func() { f.reached = position }) }

func (f *freshness) catchUp() { f.change(func() { f.live = true }) }

// interrupt withdraws the proof: a new connection may be to another node.
func (f *freshness) interrupt() { f.change(func() { f.live, f.proven = false, time.Time{} }) }

func (f *freshness) change(how func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	how()
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

// following reports whether the subscription is not behind, as far as the last proof knows.
func (f *freshness) following() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.live && !f.stalled
}
