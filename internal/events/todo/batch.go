package todo

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// errLingers is the failure of an item that stays on the list although it has an outcome: it keeps the item from being
// carried out all the time.
var errLingers = errors.New("the item has an outcome and is still on the list")

// attempt is the result of trying an item.
type attempt struct {
	made     bool
	position eventlog.Position
	err      error
}

// workOff carries a batch out. An error means that the process has to pause; the items that were not begun then wait.
func (w *Worker) workOff(ctx context.Context, items []Item) error {
	attempts := w.tryAll(ctx, items)
	outcomes := map[key]bool{}
	var outage error
	for i, a := range attempts {
		var notYet *NotYetError
		switch {
		case !a.made:
		case a.err == nil:
			outcomes[items[i].key()] = true
			w.advance(a.position)
		case ctx.Err() != nil, unavailable(a.err):
			outage = a.err
		case errors.As(a.err, &notYet):
			outage = errors.Join(outage, w.failures.postpone(items[i], time.Now().Add(notYet.After)))
		default:
			outage = errors.Join(outage, w.failed(ctx, items[i], a.err))
		}
	}
	w.done = outcomes
	return outage
}

// tryAll carries items out concurrently. After an outage it begins no more.
func (w *Worker) tryAll(ctx context.Context, items []Item) []attempt {
	attempts := make([]attempt, len(items))
	var stop atomic.Bool
	var group errgroup.Group
	group.SetLimit(w.limits.Concurrency)
	for i, item := range items {
		group.Go(func() error {
			if stop.Load() || ctx.Err() != nil {
				return nil
			}
			attempts[i] = w.try(ctx, item)
			if unavailable(attempts[i].err) {
				stop.Store(true)
			}
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
	return attempts
}

func (w *Worker) try(ctx context.Context, item Item) (a attempt) {
	a.made = true
	if w.done[item.key()] {
		a.err = errLingers
		return a
	}
	w.config.Metrics.attempts.WithLabelValues(w.config.Process.Name).Inc()
	ctx, cancel := context.WithTimeout(ctx, w.limits.Timeout)
	defer cancel()
	defer func() {
		if cause := recover(); cause != nil {
			a.err = panicked(cause)
		}
	}()
	a.position, a.err = w.config.Process.Do(ctx, item)
	return a
}

// panicked keeps the text of the runtime's own panics only: other values may contain personal data.
func panicked(cause any) error {
	if err, ok := cause.(runtime.Error); ok {
		return fmt.Errorf("carrying the item out panicked: %w", err)
	}
	return errors.New("carrying the item out panicked")
}

// unavailable reports whether an error is not the item's fault.
func unavailable(err error) bool { return domain.CodeOf(err) == domain.Unavailable }

// advance records the position of the last outcome.
func (w *Worker) advance(position eventlog.Position) {
	if !w.unshown || position.Compare(w.lastDone) > 0 {
		w.lastDone, w.unshown = position, true
	}
}

// failed counts a failed attempt, and gives the item up after too many. An error means that the process has to pause.
func (w *Worker) failed(ctx context.Context, item Item, cause error) error {
	name := w.config.Process.Name
	w.config.Metrics.failures.WithLabelValues(name).Inc()
	f := w.failures.add(item, time.Now())
	if f == nil {
		return fmt.Errorf("%d items fail; one more: item %s: %w", len(w.failures.items), item.ID, cause)
	}
	if f.attempts >= w.limits.Attempts && !f.givenUp {
		return w.giveUp(ctx, f, cause)
	}
	w.config.Logger.WarnContext(ctx, "an item of a to-do list failed, trying again", "process", name, "item", item.ID,
		"stream", item.Stream, "attempts", f.attempts, "after", time.Until(f.again), "error", cause)
	return nil
}

// giveUp raises the alert of an item and lets the item rest.
func (w *Worker) giveUp(ctx context.Context, f *failing, cause error) error {
	ctx, cancel := context.WithTimeout(ctx, w.limits.Timeout)
	defer cancel()
	given := GivenUp{Process: w.config.Process.Name, Item: f.item, Attempts: f.attempts, Err: cause, At: time.Now().UTC()}
	if err := w.config.GiveUp(ctx, given); err != nil {
		return fmt.Errorf("raising the alert of item %s: %w", f.item.ID, err)
	}
	w.failures.giveUp(f, time.Now())
	return nil
}
