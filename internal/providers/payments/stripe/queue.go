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

// queue limits the rate of requests. Requests that a person waits for pass first, and among these the changes; accounts
// take turns. It is safe for concurrent use. A nil queue has no limit.
type queue struct {
	mu      sync.Mutex
	bucket  *rate.Limiter
	waiting []*waiter
	turn    [classes]int // of the last passed request, by class
	passed  int          // number of passed requests that had waited
}

// waiter is a waiting request.
type waiter struct {
	class   int
	account string
	turn    int // of its account: an account's second request comes after the first ones of all others
	since   time.Time
	pass    chan struct{} // closed when it passes
}

const (
	// classes is the number of classes of requests.
	classes = 4
	// oldestFirst is the interval at which the longest waiting request passes, so that none starves.
	oldestFirst = 8
)

// newQueue returns a queue for a number of requests per second, or nil for 0. In any second, at most five quarters of
// that number pass.
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

// wait waits until a request may be sent. If that would be too late, it returns the time after which to retry.
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

// join adds a waiter for a request. It returns none if the request may pass immediately or would wait too long.
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

// leave removes a waiter, and returns its remaining wait, or 0 if it has just passed.
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

// passLater lets the next waiters pass as soon as the rate permits it.
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

// before orders waiters.
func before(a, b *waiter) int {
	return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.turn, b.turn), a.since.Compare(b.since))
}

// remembering is the lifetime of the cache within one operation.
const remembering = 10 * time.Second

// known is a cached object with its time.
type known struct {
	object any
	at     time.Time
}

// remember caches an object for the rest of an operation, or until the operation changes something.
func remember[T any](ctx context.Context, id string, object *T) {
	if kept := payments.Kept(ctx); kept != nil {
		kept.Store(id, known{object, time.Now()})
	}
}

// recall returns a cached object, or nil.
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

// forget clears the cache of the operation.
func forget(ctx context.Context) {
	if kept := payments.Kept(ctx); kept != nil {
		kept.Clear()
	}
}

// rememberMade caches a subscription that a request has created or changed, if it has all used fields and the answer is
// not a repetition.
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

// isReplayed reports whether a response repeats an earlier one for the same key, which may be out of date.
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
	metaAttempt = "attempt" // that created it
	metaChange  = "change"  // the last attempt that changed it
	metaAccount = "account"
	metaUsage   = "usage"
	metaLength  = "characters"
	metaAddress = "address" // hash of the last e-mail address set by SetAddress
)

// change is one request that changes an object of the provider, as a step of an attempt.
type change[T any] struct {
	step string
	read func() (*T, error) // returns the current object, or nil if there is none
	made func(*T) bool      // reports whether the change was made; nil: it is made if the object exists
	make func(params stripe.Params, now *T) (*T, error)
	look bool // reads the object first even if an earlier attempt is unlikely, so that make is called with it
}

func (c change[T]) isMade(object *T) bool { return object != nil && (c.made == nil || c.made(object)) }

// once makes a change unless it was already made. A refusal may mean that a request with a lost response made it, so
// the object is read before the refusal is accepted. A failing provider repeats its response for the same key: if the
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

// done discards the object returned for a change.
func done(_ any, err error) error { return err }

// since restricts a list to objects that an attempt may have created.
func since(a payments.Attempt) *stripe.RangeQueryParams {
	return &stripe.RangeQueryParams{GreaterThanOrEqual: a.First.Add(-skew).Unix()}
}
