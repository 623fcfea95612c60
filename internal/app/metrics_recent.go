package app

import (
	"context"
	"sync"
	"time"
)

const (
	recentAge     = 5 * time.Second // the greatest age of what a scrape shows of Postgres and the log
	recentTimeout = time.Second     // how long a scrape waits for them
)

// recent is an answer of Postgres or of the log that scrapes share, so that they cost as much as one every few seconds,
// however many there are. A failure is shared, too, so that scrapes do not queue up before a database that does not
// answer.
type recent[T any] struct {
	ask func(context.Context) (T, error)

	mu     sync.Mutex // held while the question is asked: who scrapes at the same time waits for that answer
	asked  time.Time
	answer T
	known  bool
}

func newRecent[T any](ask func(context.Context) (T, error)) *recent[T] { return &recent[T]{ask: ask} }

// get returns what was there a moment ago, or the zero value, and whether that is known.
func (r *recent[T]) get() (answer T, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked.IsZero() || time.Since(r.asked) >= recentAge {
		ctx, cancel := context.WithTimeout(context.Background(), recentTimeout)
		defer cancel()
		answer, err := r.ask(ctx)
		if err != nil {
			answer = *new(T)
		}
		r.asked, r.answer, r.known = time.Now(), answer, err == nil
	}
	return r.answer, r.known
}
