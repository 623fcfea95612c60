package stripe

import (
	"cmp"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/recital-tts/recital/internal/providers/payments"
)

// queue lets requests pass at a rate: first those for which a person waits, and of these the ones that change
// something, each account in its turn. It is safe for concurrent use. A nil queue lets everything pass.
type queue struct {
	mu      sync.Mutex
	bucket  *rate.Limiter
	waiting []*waiter
	turn    [classes]int // of the last that has passed, by class
	passed  int          // of those that have waited
}

// waiter is a request that waits.
type waiter struct {
	class   int
	account string
	turn    int // of its account: a second request of one account comes after the first ones of all others
	since   time.Time
	pass    chan struct{} // closed when it passes
}

const (
	// classes is the number of classes of requests.
	classes = 4
	// oldestFirst is which of those that pass is the one that has waited longest, so that all get on.
	oldestFirst = 8
)

// newQueue returns a queue for a number of requests a second, nil for 0. In no second more than five quarters of it
// pass.
func newQueue(perSecond int) *queue {
	if perSecond <= 0 {
		return nil
	}
	return &queue{bucket: rate.NewLimiter(rate.Limit(perSecond), max(1, perSecond/4))}
}

// classOf returns the class of a request. Lower ones come first.
func classOf(r *http.Request, caller payments.Caller) (class int) {
	if r.Method == http.MethodGet {
		class++
	}
	if !caller.Waiting {
		class += 2
	}
	return class
}

// wait waits until a request may be sent. If that is not before a time or the end of the request, it returns after how
// long it may be worth to try again.
func (q *queue) wait(r *http.Request, ends time.Time) (after time.Duration) {
	if q == nil {
		return 0
	}
	w, after := q.join(r, ends)
	if w == nil {
		return after
	}
	late := time.NewTimer(time.Until(ends))
	defer late.Stop()
	select {
	case <-w.pass:
		return 0
	case <-r.Context().Done():
	case <-late.C:
	}
	return q.leave(w)
}

// join adds a request to those that wait, unless it may pass at once or would wait too long: then there is no waiter.
func (q *queue) join(r *http.Request, ends time.Time) (w *waiter, after time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 && q.bucket.Allow() {
		return nil, 0
	}
	caller := payments.CallerOf(r.Context())
	w = &waiter{class: classOf(r, caller), account: caller.Account, since: time.Now(), pass: make(chan struct{})}
	w.turn = q.turn[w.class] + 1
	for _, other := range q.waiting {
		if other.class == w.class && other.account == w.account {
			w.turn++
		}
	}
	if after = q.delay(w); time.Now().Add(after).After(ends) {
		return nil, after
	}
	if q.waiting = append(q.waiting, w); len(q.waiting) == 1 {
		q.passLater()
	}
	return w, 0
}

// delay returns how long a waiter waits if nobody else comes.
func (q *queue) delay(w *waiter) time.Duration {
	needed := 1 - q.bucket.Tokens()
	for _, other := range q.waiting {
		if before(other, w) < 0 {
			needed++
		}
	}
	return time.Duration(max(0, needed) / float64(q.bucket.Limit()) * float64(time.Second))
}

// leave takes a waiter out, and returns how long it would have waited still: 0 if it has just passed.
func (q *queue) leave(w *waiter) (after time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, w)
	if i < 0 {
		return 0
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return max(time.Millisecond, q.delay(w))
}

// passLater has the next ones pass as soon as the rate permits it.
func (q *queue) passLater() {
	missing := (1 - q.bucket.Tokens()) / float64(q.bucket.Limit())
	time.AfterFunc(max(time.Millisecond, time.Duration(missing*float64(time.Second))), q.pass)
}

func (q *queue) pass() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) > 0 && q.bucket.Allow() {
		w := q.next()
		q.waiting = slices.DeleteFunc(q.waiting, func(other *waiter) bool { return other == w })
		q.turn[w.class] = max(q.turn[w.class], w.turn)
		close(w.pass)
	}
	if len(q.waiting) > 0 {
		q.passLater()
	}
}

// next returns the waiter that passes next.
func (q *queue) next() *waiter {
	if q.passed++; q.passed%oldestFirst == 0 {
		return slices.MinFunc(q.waiting, func(a, b *waiter) int { return a.since.Compare(b.since) })
	}
	return slices.MinFunc(q.waiting, before)
}

// before orders those who wait.
func before(a, b *waiter) int {
	return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.turn, b.turn), a.since.Compare(b.since))
}
