package todo

import (
	"math"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// trouble remembers the items that failed: how often, and when they are tried again.
type trouble struct {
	limits Limits
	items  map[key]*failing
}

type failing struct {
	item     Item
	attempts int
	pauses   *backoff.ExponentialBackOff
	again    time.Time // not before
	givenUp  bool
}

func newTrouble(limits Limits) *trouble { return &trouble{limits: limits, items: map[key]*failing{}} }

// failed counts a failed attempt. It returns nil when too many items fail already to remember one more.
func (t *trouble) failed(item Item, now time.Time) *failing {
	f, known := t.items[item.key()]
	if !known {
		if len(t.items) >= t.limits.Troubled {
			return nil
		}
		f = &failing{item: item, pauses: doubling(t.limits.FirstPause, t.limits.LongestPause)}
		t.items[item.key()] = f
	}
	f.attempts++
	f.again = now.Add(f.pauses.NextBackOff())
	if f.givenUp {
		f.again = now.Add(t.limits.Rest)
	}
	return f
}

// giveUp lets an item rest.
func (t *trouble) giveUp(f *failing, now time.Time) {
	f.givenUp = true
	f.again = now.Add(t.limits.Rest)
}

// resting are the items that are not to be tried yet.
func (t *trouble) resting(now time.Time) []Item {
	var resting []Item
	for _, f := range t.items {
		if f.again.After(now) {
			resting = append(resting, f.item)
		}
	}
	return resting
}

// forgetDone forgets the items that were to be tried again and are not listed any more. The list may be cut off, and
// says nothing about items that are due later than the last one then.
func (t *trouble) forgetDone(listed []Item, by, now time.Time, cut bool) {
	if len(t.items) == 0 {
		return
	}
	still := make(map[key]bool, len(listed))
	for _, item := range listed {
		still[item.key()] = true
	}
	if cut {
		by = listed[len(listed)-1].Due.Add(-1)
	}
	for k, f := range t.items {
		if !still[k] && !f.again.After(now) && !f.item.Due.After(by) {
			delete(t.items, k)
		}
	}
}

// wait is how long it takes until an item that is due by a time is to be tried again.
func (t *trouble) wait(by, now time.Time) time.Duration {
	wait := time.Duration(math.MaxInt64)
	for _, f := range t.items {
		if !f.item.Due.After(by) {
			wait = min(wait, f.again.Sub(now))
		}
	}
	return wait
}

func (t *trouble) givenUp() int {
	n := 0
	for _, f := range t.items {
		if f.givenUp {
			n++
		}
	}
	return n
}

// doubling are pauses that double from the first to the longest, each give or take a half of it at random.
func doubling(first, longest time.Duration) *backoff.ExponentialBackOff {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval, pauses.Multiplier = first, max(first, longest), 2
	return pauses
}
