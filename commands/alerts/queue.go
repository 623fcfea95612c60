package alerts

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/recital-tts/recital/domain"
)

const (
	maxQueued    = 1000
	firstRetry   = 100 * time.Millisecond
	longestRetry = 30 * time.Second
	// attemptTimeout bounds one attempt to append an event.
	attemptTimeout = 10 * time.Second
	// lastTimeout bounds all appends at the end of Run.
	lastTimeout = 2 * time.Second
)

// Queue raises alerts for callers that must not wait for the log. Run appends them.
type Queue struct {
	alerts *Alerts
	added  chan struct{} // holds a value while there may be occasions that Run has not seen

	mu      sync.Mutex
	waiting []Occasion
}

// NewQueue returns an empty queue.
func NewQueue(a *Alerts) *Queue {
	return &Queue{alerts: a, added: make(chan struct{}, 1)}
}

// Raise logs and counts an alert, and queues its event. It never blocks: an event that exceeds the queue is dropped and
// logged.
func (q *Queue) Raise(o Occasion) {
	q.alerts.announce(context.Background(), o)
	if !q.add(o) {
		q.dropped(o, "the queue is full")
	}
}

// add reports whether the occasion is in the queue.
func (q *Queue) add(o Occasion) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, waiting := range q.waiting {
		if waiting.id() == o.id() {
			return true
		}
	}
	if len(q.waiting) == maxQueued {
		return false
	}
	q.waiting = append(q.waiting, o)
	select {
	case q.added <- struct{}{}:
	default:
	}
	return true
}

// Run appends what is queued until ctx ends, and repeats what the log does not take. Then it tries the rest once more and
// returns nil.
func (q *Queue) Run(ctx context.Context) error {
	for q.appendAll(ctx, backoff.WithMaxElapsedTime(0)) {
		select {
		case <-q.added:
		case <-ctx.Done():
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTimeout)
	defer cancel()
	q.appendAll(ctx, backoff.WithMaxTries(1))
	for o, ok := q.first(); ok; o, ok = q.first() {
		q.dropped(o, "recitald ended before the log took it")
		q.removeFirst()
	}
	return nil
}

// appendAll appends what is queued, in order. It reports whether ctx goes on.
func (q *Queue) appendAll(ctx context.Context, tries backoff.RetryOption) bool {
	for o, ok := q.first(); ok && ctx.Err() == nil; o, ok = q.first() {
		err := q.append(ctx, o, tries)
		if unavailable(err) {
			break // ctx has ended, or this was the only attempt
		}
		if err != nil {
			q.dropped(o, err.Error())
		}
		q.removeFirst()
	}
	return ctx.Err() == nil
}

func (q *Queue) append(ctx context.Context, o Occasion, tries backoff.RetryOption) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = firstRetry, longestRetry
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
		defer cancel()
		err := q.alerts.append(ctx, o)
		if err != nil && !unavailable(err) {
			return struct{}{}, backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pauses), tries, backoff.WithNotify(func(err error, after time.Duration) {
		q.alerts.log.WarnContext(ctx, "an alert cannot be appended now, trying again", "source", o.Source, "subject", o.Subject,
			"after", after, "error", err)
	}))
	return err
}

// unavailable reports whether an append may succeed later.
func unavailable(err error) bool {
	return domain.CodeOf(err) == domain.Unavailable || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

func (q *Queue) first() (o Occasion, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return o, false
	}
	return q.waiting[0], true
}

func (q *Queue) removeFirst() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = q.waiting[1:]
}

func (q *Queue) dropped(o Occasion, why string) {
	q.alerts.log.Error("an alert is not in the log", "source", o.Source, "subject", o.Subject, "reason", o.Reason, "why", why)
}
