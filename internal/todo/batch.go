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
	"github.com/recital-tts/recital/internal/eventlog"
)

// errLingers is for an item that stays on the list though it has an outcome, so that it is not done again and again.
var errLingers = errors.New("the item has an outcome and is still on the list")

// attempt is what came of an item.
type attempt struct {
	made     bool // not left out
	position eventlog.Position
	err      error
}

// workOff carries a batch out. Its error says that the process has to pause; the items that it had not begun then wait.
func (w *Worker) workOff(ctx context.Context, items []Item) error {
	attempts := w.tryAll(ctx, items)
	outcomes := map[key]bool{}
	var outage error
	for i, a := range attempts {
		switch {
		case !a.made:
		case a.err == nil:
			outcomes[items[i].key()] = true
			w.note(a.position)
		case ctx.Err() != nil, unavailable(a.err):
			outage = a.err
		default:
			outage = errors.Join(outage, w.failed(ctx, items[i], a.err))
		}
	}
	w.done = outcomes
	return outage
}

// tryAll carries items out, some at once. After an outage it begins no more.
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

// panicked keeps the text of the runtime's own panics; what others panic with may hold anything.
func panicked(cause any) error {
	if err, ok := cause.(runtime.Error); ok {
		return fmt.Errorf("carrying the item out panicked: %w", err)
	}
	return errors.New("carrying the item out panicked")
}

// unavailable tells whether an error is no fault of the item.
func unavailable(err error) bool { return domain.CodeOf(err) == domain.Unavailable }

// note remembers where the last outcome is.
func (w *Worker) note(position eventlog.Position) {
	if !w.unnoticed || position.Compare(w.lastDone) > 0 {
		w.lastDone, w.unnoticed = position, true
	}
}

// failed counts a failed attempt, and gives the item up after too many. Its error says that the process has to pause.
func (w *Worker) failed(ctx context.Context, item Item, cause error) error {
	name := w.config.Process.Name
	w.config.Metrics.failures.WithLabelValues(name).Inc()
	f := w.trouble.failed(item, time.Now())
	if f == nil {
		return fmt.Errorf("%d items fail; one more: item %s: %w", len(w.trouble.items), item.ID, cause)
	}
	log := w.config.Logger.With("process", name, "item", item.ID, "stream", item.Stream, "attempts", f.attempts, "error", cause)
	if f.attempts < w.limits.Attempts || f.givenUp {
		log.WarnContext(ctx, "an item of a to-do list failed, trying again", "after", time.Until(f.again))
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, w.limits.Timeout)
	defer cancel()
	if err := w.config.GiveUp(ctx, GivenUp{Process: name, Item: item, Attempts: f.attempts, At: time.Now().UTC()}); err != nil {
		return fmt.Errorf("raising the alert of item %s: %w", item.ID, err)
	}
	w.trouble.giveUp(f, time.Now())
	w.config.Metrics.giveUps.WithLabelValues(name).Inc()
	log.ErrorContext(ctx, "alert", "reason", "an item of a to-do list was given up", "after", w.limits.Rest)
	return nil
}
