package alerts

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/alert"
)

const (
	// maxWaiting is the maximum number of entries that wait for the log.
	maxWaiting = 1000
	// retryEvery is the pause before a failed append is retried, and assertEvery the interval at which detected conditions
	// are compared with the log, where an operator may have cleared them.
	retryEvery  = time.Second
	assertEvery = 30 * time.Second
	// attemptTimeout bounds one attempt to append an event, and lastTimeout all attempts at the end of Run.
	attemptTimeout = 10 * time.Second
	lastTimeout    = 2 * time.Second
)

// entry is an event that waits for the log.
type entry struct {
	command uuid.UUID
	about   alert.Condition
	append  func(ctx context.Context) error
}

// enqueue adds an entry, unless it is queued already or the queue is full. The mutex is locked.
func (a *Alerts) enqueue(e entry) {
	if slices.ContainsFunc(a.waiting, func(other entry) bool { return other.command == e.command }) {
		return
	}
	if len(a.waiting) == maxWaiting {
		a.lost(e, "the queue for the log is full")
		return
	}
	a.waiting = append(a.waiting, e)
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// waits reports whether a change of a condition waits for the log. The mutex is locked.
func (a *Alerts) waits(condition alert.Condition) bool {
	return slices.ContainsFunc(a.waiting, func(e entry) bool { return e.about == condition })
}

// Run appends the waiting entries until ctx ends, and retries failed appends. Then it clears the conditions that
// concern this instance alone, tries the rest once more and returns nil.
func (a *Alerts) Run(ctx context.Context) error {
	retry, assert := time.NewTicker(retryEvery), time.NewTicker(assertEvery)
	defer retry.Stop()
	defer assert.Stop()
	for {
		a.appendWaiting(ctx)
		select {
		case <-a.changed:
		case <-retry.C:
		case <-assert.C:
			a.assert()
		case <-ctx.Done():
			a.appendLast(ctx)
			return nil
		}
	}
}

func (a *Alerts) appendLast(ctx context.Context) {
	a.end()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTimeout)
	defer cancel()
	a.appendWaiting(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range a.waiting {
		a.lost(e, "recitald ended before it was appended")
	}
	a.waiting = nil
}

// appendWaiting appends the entries in order, until an append fails.
func (a *Alerts) appendWaiting(ctx context.Context) {
	for next, ok := a.first(); ok && ctx.Err() == nil; next, ok = a.first() {
		attempt, cancel := context.WithTimeout(ctx, attemptTimeout)
		err := next.append(attempt)
		cancel()
		if isUnavailable(err) {
			return
		}
		if err != nil {
			a.lost(next, err.Error())
		}
		a.removeFirst()
	}
}

// isUnavailable reports whether an append may succeed later.
func isUnavailable(err error) bool {
	return domain.CodeOf(err) == domain.Unavailable || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, context.Canceled)
}

func (a *Alerts) first() (first entry, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting) == 0 {
		return entry{}, false
	}
	return a.waiting[0], true
}

func (a *Alerts) removeFirst() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting = a.waiting[1:]
}

func (a *Alerts) lost(e entry, reason string) {
	a.log.Error("an alert is not in the log", "source", e.about.Source, "subject", e.about.Subject, "reason",
		e.about.Reason, "why", reason)
}
