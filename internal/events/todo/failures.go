package todo

import (
	"fmt"
	"math"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// failures remembers the items that failed or were postponed, with their attempts and the time of the next one.
type failures struct {
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

func newFailures(limits Limits) *failures {
	return &failures{limits: limits, items: map[key]*failing{}}
}

// add counts a failed attempt. It returns nil if too many items are already remembered.
func (fs *failures) add(item Item, now time.Time) *failing {
	f := fs.remember(item)
	if f == nil {
		return nil
	}
	f.attempts++
	f.again = now.Add(f.pauses.NextBackOff())
	if f.givenUp {
		f.again = now.Add(fs.limits.Rest)
	}
	return f
}

// postpone makes an item wait without a failure. It returns an error if too many items are already remembered.
func (fs *failures) postpone(item Item, again time.Time) error {
	f := fs.remember(item)
	if f == nil {
		return fmt.Errorf("%d items rest; one more: item %s", len(fs.items), item.ID)
	}
	f.again = again
	return nil
}

// delay sets the earliest time of the next attempt of a remembered item.
func (fs *failures) delay(item Item, again time.Time) {
	if f, known := fs.items[item.key()]; known {
		f.again = again
	}
}

func (fs *failures) remember(item Item) *failing {
	f, known := fs.items[item.key()]
	if known {
		return f
	}
	if len(fs.items) >= fs.limits.MaxFailing {
		return nil
	}
	f = &failing{item: item, pauses: doubling(fs.limits.FirstPause, fs.limits.LongestPause)}
	fs.items[item.key()] = f
	return f
}

// giveUp marks an item as given up.
func (fs *failures) giveUp(f *failing, now time.Time) {
	f.givenUp = true
	f.again = now.Add(fs.limits.Rest)
}

// resting returns the items that must not be tried yet.
func (fs *failures) resting(now time.Time) []Item {
	var resting []Item
	for _, f := range fs.items {
		if f.again.After(now) {
			resting = append(resting, f.item)
		}
	}
	return resting
}

// forgetDone forgets the items that could be tried again and are no longer listed. A list that was cut off does not
// show items that are due later than its last one.
func (fs *failures) forgetDone(listed []Item, by, now time.Time, cut bool) {
	if len(fs.items) == 0 {
		return
	}
	still := make(map[key]bool, len(listed))
	for _, item := range listed {
		still[item.key()] = true
	}
	if cut {
		by = listed[len(listed)-1].Due.Add(-1)
	}
	for k, f := range fs.items {
		if !still[k] && !f.again.After(now) && !f.item.Due.After(by) {
			delete(fs.items, k)
		}
	}
}

// wait returns the time until the first item that is due by a time is tried again.
func (fs *failures) wait(by, now time.Time) time.Duration {
	wait := time.Duration(math.MaxInt64)
	for _, f := range fs.items {
		if !f.item.Due.After(by) {
			wait = min(wait, f.again.Sub(now))
		}
	}
	return wait
}

func (fs *failures) givenUp() int {
	n := 0
	for _, f := range fs.items {
		if f.givenUp {
			n++
		}
	}
	return n
}

// doubling returns pauses that double from the first to the longest, each randomised by plus or minus half.
func doubling(first, longest time.Duration) *backoff.ExponentialBackOff {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval, pauses.Multiplier = first, max(first, longest), 2
	return pauses
}
