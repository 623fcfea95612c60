package stripe

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/stripe/stripe-go/v84"
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

// delay returns the wait of a waiter if no other one arrives.
func (q *queue) delay(w *waiter) time.Duration {
	needed := 1 - q.bucket.Tokens()
	for _, other := range q.waiting {
		if before(other, w) < 0 {
			needed++
		}
	}
	return time.Duration(max(0, needed) / float64(q.bucket.Limit()) * float64(time.Second))
}

// leave removes a waiter, and returns the rest of its wait: 0 if it has just passed.
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

// remembering is the lifetime of the cache within one operation.
const remembering = 10 * time.Second

// known is an object as it was at a time.
type known struct {
	object any
	at     time.Time
}

// remember keeps an object for the rest of an operation, or until the operation changes something.
func remember[T any](ctx context.Context, id string, object *T) {
	if kept := payments.Kept(ctx); kept != nil {
		kept.Store(id, known{object, time.Now()})
	}
}

// recall returns an object that was remembered, or nil.
func recall[T any](ctx context.Context, id string) *T {
	kept := payments.Kept(ctx)
	if kept == nil {
		return nil
	}
	value, found := kept.Load(id)
	if k, ok := value.(known); found && ok && time.Since(k.at) < remembering {
		object, _ := k.object.(*T)
		return object
	}
	return nil
}

// forget drops all that was remembered.
func forget(ctx context.Context) {
	if kept := payments.Kept(ctx); kept != nil {
		kept.Clear()
	}
}

// rememberMade keeps a subscription that a request has created or changed, if it has all that is shown of one and the
// provider has not given this answer before.
func rememberMade(ctx context.Context, made any) {
	s, is := made.(*stripe.Subscription)
	if !is {
		return
	}
	whole := (s.Schedule == nil || s.Schedule.Object != "") &&
		(s.DefaultPaymentMethod == nil || s.DefaultPaymentMethod.Object != "")
	if whole && !isReplayed(s.LastResponse) {
		remember(ctx, s.ID, s)
	}
}

// isReplayed reports whether a response repeats an earlier one for the same key. It may be out of date.
func isReplayed(answer *stripe.APIResponse) bool {
	return answer != nil && answer.Header.Get("Idempotent-Replayed") == "true"
}

const (
	// fresh is the time after the first attempt within which a change is repeated without a look-up. The provider
	// remembers keys for 24 hours by its own clock; a look-up is cheap, and happens only after a crash.
	fresh = time.Minute
	// keys is the maximum number of an attempt's keys that a failing provider may spoil.
	keys = 4
	// skew is the maximum delay of the provider's clock.
	skew = time.Hour
)

// The metadata of objects.
const (
	metaAttempt = "attempt" // that has created it
	metaChange  = "change"  // the last attempt that has changed it
	metaAccount = "account"
	metaUsage   = "usage"
	metaLength  = "characters"
	metaAddress = "address" // hash of the e-mail address that was told
)

// change is one request that changes something, as a step of an attempt. It is about an object of the provider.
type change[T any] struct {
	step string
	read func() (*T, error) // returns the object as it is, nil if there is none
	made func(*T) bool      // reports whether the change was made; nil: it is made if the object exists
	make func(params stripe.Params, now *T) (*T, error)
	look bool // reads the object first even if an earlier attempt is unlikely, so that make is called with it
}

func (c change[T]) isMade(object *T) bool { return object != nil && (c.made == nil || c.made(object)) }

// once makes a change unless it was made. A refusal may mean that it was, by a request with a lost response, so the
// object is read before the refusal is accepted. A failing provider repeats its response for the same key: if the
// change was not made, it is attempted under the next key.
func once[T any](ctx context.Context, g *Gateway, a payments.Attempt, c change[T]) (object *T, err error) {
	if c.look || g.now().Sub(a.First) > fresh {
		if object, err = c.read(); err != nil || c.isMade(object) {
			return object, err
		}
	}
	var failed error
	for n := range keys {
		forget(ctx)
		made, err := read(ctx, g, func() (*T, error) { return c.make(withKey(a, c.step, n), object) })
		doubtful, replayed := isDoubtful(err)
		if !doubtful {
			if err == nil && made != object {
				rememberMade(ctx, made)
			}
			return made, err
		}
		again, lookErr := c.read()
		if lookErr == nil && c.isMade(again) {
			return again, nil
		}
		if !replayed {
			return nil, err
		}
		if failed = err; lookErr == nil {
			object = again
		}
	}
	return nil, failed
}

// withKey returns parameters with the idempotency key of a step: the provider carries out one request with it.
func withKey(a payments.Attempt, step string, n int) stripe.Params {
	key := a.ID + "/" + step
	if n > 0 {
		key = fmt.Sprintf("%s/%d", key, n)
	}
	return stripe.Params{IdempotencyKey: &key}
}

// done drops the object that the provider returns for a change.
func done(_ any, err error) error { return err }

// since restricts a list to objects that an attempt may have created.
func since(a payments.Attempt) *stripe.RangeQueryParams {
	return &stripe.RangeQueryParams{GreaterThanOrEqual: a.First.Add(-skew).Unix()}
}
