package health

import (
	"sync"
	"time"
)

// Tally is a pair of counters that only rise.
type Tally struct{ All, Bad uint64 }

// Window remembers the values of a tally for a while. It is safe for concurrent use.
type Window struct {
	Length  time.Duration
	mu      sync.Mutex
	samples []sample
}

type sample struct {
	at time.Time
	Tally
}

// Since adds a sample and returns what was counted within the window.
func (w *Window) Since(now time.Time, t Tally) Tally {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.samples = append(w.samples, sample{now, t})
	for len(w.samples) > 1 && now.Sub(w.samples[0].at) > w.Length {
		w.samples = w.samples[1:]
	}
	first := w.samples[0]
	return Tally{t.All - first.All, t.Bad - first.Bad}
}
