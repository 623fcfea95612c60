package todo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/process/panics"
	"github.com/recital-tts/recital/internal/process/pause"
)

// minSleep limits how often a worker with many notifications reads its list.
const minSleep = 50 * time.Millisecond

// Worker carries out the items of one process.
type Worker struct {
	config   Config
	limits   Limits
	notified <-chan struct{}

	outage   *backoff.ExponentialBackOff // pauses of the whole process
	paused   bool                        // for an outage, which is logged once
	failures *failures
	begun    map[key]Item // items that are being carried out
	ended    chan attempt // of these items; has room for all
	trouble  error        // the reason for a pause of the process
	pauses   int          // for outages, so far

	done     map[key]bool      // items with an outcome since the list was read
	lastDone eventlog.Position // position of the last outcome
	unshown  bool              // the list may not show lastDone yet
}

// NewWorker returns a worker, or an error if the configuration is not valid.
func NewWorker(config Config) (*Worker, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	config.setDefaults()
	config.Metrics.watch(config.Process)
	return &Worker{
		config:   config,
		limits:   config.Limits,
		notified: config.Notifier.listen(config.Model),
		outage:   doubling(config.Limits.FirstPause, config.Limits.OutagePause),
		failures: newFailures(config.Limits),
		begun:    map[key]Item{},
		ended:    make(chan attempt, config.Limits.Concurrency),
		done:     map[key]bool{},
	}, nil
}

// Run works until ctx ends, through outages, and then returns nil. It cancels the running items and waits for them. It
// can be called once.
func (w *Worker) Run(ctx context.Context) error {
	select {
	case <-w.config.Ready:
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		wait, err := w.round(ctx)
		if err != nil {
			w.pause(ctx, err)
			continue
		}
		if len(w.begun) == 0 {
			w.answered()
		}
		w.sleep(ctx, wait)
	}
	for len(w.begun) > 0 {
		w.settle(ctx, <-w.ended)
	}
	return nil
}

// answered ends an outage.
func (w *Worker) answered() {
	w.outage.Reset()
	w.paused = false
}

// round begins due items, and returns the time until the next one.
func (w *Worker) round(ctx context.Context) (time.Duration, error) {
	leads, err := w.config.IsLeader(ctx)
	if err != nil {
		return 0, fmt.Errorf("finding the leader: %w", err)
	}
	overdue := time.Duration(0)
	if !leads {
		overdue = w.limits.Takeover
	}
	for {
		if err := w.settleEnded(ctx); err != nil {
			return 0, err
		}
		items, next, err := w.due(ctx, overdue)
		if err != nil {
			return 0, err
		}
		if err := w.begin(ctx, items); err != nil {
			return 0, err
		}
		if len(items) < w.limits.Batch {
			return w.until(next, overdue), nil
		}
	}
}

// due waits until the list shows all outcomes. It returns the items that have been overdue for a time and are not being
// carried out, and the due time of the next one.
func (w *Worker) due(ctx context.Context, overdue time.Duration) (items []Item, next time.Time, err error) {
	if err := w.awaitList(ctx); err != nil {
		return nil, next, err
	}
	now := time.Now()
	by := w.config.Now().Add(-overdue)
	except := slices.AppendSeq(w.failures.resting(now), maps.Values(w.begun))
	items, next, err = w.config.Process.List.Due(ctx, by, except, w.limits.Batch)
	if err != nil {
		return nil, next, fmt.Errorf("reading what is due: %w", err)
	}
	w.failures.forgetDone(items, by, now, len(items) == w.limits.Batch)
	w.config.Metrics.givenUp.WithLabelValues(w.config.Process.Name).Set(float64(w.failures.givenUp()))
	return items, next, nil
}

// awaitList waits until the list shows the last outcome.
func (w *Worker) awaitList(ctx context.Context) error {
	if !w.unshown {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, w.limits.Timeout)
	defer cancel()
	if err := w.config.Shown(ctx, w.lastDone); err != nil {
		return fmt.Errorf("waiting for the to-do list: %w", err)
	}
	w.unshown = false
	return nil
}

// until returns the time until the next item, or a waiting one, is to be carried out.
func (w *Worker) until(next time.Time, overdue time.Duration) time.Duration {
	by := w.config.Now().Add(-overdue)
	wait := min(w.limits.Poll, w.failures.wait(by, time.Now()))
	if !next.IsZero() {
		wait = min(wait, next.Sub(by))
	}
	return wait
}

// sleep waits, at most until the worker is notified or an attempt ends.
func (w *Worker) sleep(ctx context.Context, wait time.Duration) {
	over := time.After(max(wait, minSleep))
	if pause.For(ctx, minSleep) != nil {
		return
	}
	select {
	case <-ctx.Done():
	case <-over:
	case <-w.notified:
	case a := <-w.ended:
		w.settle(ctx, a)
	}
}

// pause waits for the end of an outage.
func (w *Worker) pause(ctx context.Context, cause error) {
	if ctx.Err() != nil {
		return
	}
	w.pauses++
	wait := w.outage.NextBackOff()
	w.config.Logger.Log(ctx, levelOf(w.paused), "a to-do list cannot be worked off now, trying again",
		"process", w.config.Process.Name, "after", wait, "error", cause)
	w.paused = true
	_ = pause.For(ctx, wait) // Run notices the end
}

// levelOf returns the log level of a failure. Repeated failures have a lower one.
func levelOf(again bool) slog.Level {
	if again {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// Notifier wakes workers when the read models of their lists have changed. The zero value is ready to use.
type Notifier struct {
	mu        sync.Mutex
	listeners map[readmodel.Model][]chan struct{}
}

// Notify wakes the sleeping workers with lists of these read models. A busy worker reads its list once more afterwards.
// Notify never blocks.
func (n *Notifier) Notify(changed ...readmodel.Model) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, model := range changed {
		for _, listener := range n.listeners[model] {
			select {
			case listener <- struct{}{}:
			default: // it is notified already
			}
		}
	}
}

func (n *Notifier) listen(model readmodel.Model) <-chan struct{} {
	if n == nil {
		return nil
	}
	listener := make(chan struct{}, 1)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners == nil {
		n.listeners = map[readmodel.Model][]chan struct{}{}
	}
	n.listeners[model] = append(n.listeners[model], listener)
	return listener
}

// errLingers is the failure of an item that stays on the list although it has an outcome. As a failure, it is not
// carried out again immediately.
var errLingers = errors.New("the item has an outcome and is still on the list")

// attempt is the result of trying an item.
type attempt struct {
	item     Item
	pauses   int // of the process before the attempt
	at       time.Time
	position eventlog.Position
	err      error
}

// begin begins to carry out items. If too many are running, it waits until one has ended. An error means that the
// process has to pause; the remaining items then wait.
func (w *Worker) begin(ctx context.Context, items []Item) error {
	lingering := w.done
	w.done = map[key]bool{}
	for _, item := range items {
		if lingering[item.key()] {
			w.settle(ctx, attempt{item: item, pauses: w.pauses, at: time.Now(), err: errLingers})
			continue
		}
		if len(w.begun) == w.limits.Concurrency {
			ended := <-w.ended
			w.settle(ctx, ended)
			if unavailable(ended.err) {
				break
			}
		}
		if ctx.Err() != nil {
			break
		}
		w.begun[item.key()] = item
		w.failures.delay(item, time.Now().Add(2*w.limits.Timeout))
		go func(pauses int) {
			position, err := w.try(ctx, item)
			w.ended <- attempt{item, pauses, time.Now(), position, err}
		}(w.pauses)
	}
	return w.settleEnded(ctx)
}

// settleEnded processes the ended attempts. An error means that the process has to pause.
func (w *Worker) settleEnded(ctx context.Context) error {
	for {
		select {
		case a := <-w.ended:
			w.settle(ctx, a)
		default:
			trouble := w.trouble
			w.trouble = nil
			return trouble
		}
	}
}

// settle processes an ended attempt. It ignores an outage for which the process has already paused.
func (w *Worker) settle(ctx context.Context, a attempt) {
	delete(w.begun, a.item.key())
	w.failures.delay(a.item, a.at)
	var notYet *NotYetError
	switch {
	case ctx.Err() != nil:
	case unavailable(a.err):
		if a.pauses == w.pauses {
			w.trouble = a.err
		}
	case a.err == nil:
		w.done[a.item.key()] = true
		w.advance(a.position)
		w.answered()
	case errors.As(a.err, &notYet):
		w.trouble = errors.Join(w.trouble, w.failures.postpone(a.item, a.at.Add(notYet.After)))
	default:
		w.trouble = errors.Join(w.trouble, w.failed(ctx, a))
	}
}

func (w *Worker) try(ctx context.Context, item Item) (position eventlog.Position, err error) {
	w.config.Metrics.attempts.WithLabelValues(w.config.Process.Name).Inc()
	ctx, cancel := context.WithTimeout(ctx, w.limits.Timeout)
	defer cancel()
	defer func() {
		if cause := recover(); cause != nil {
			err = panics.Error("carrying the item out", cause)
		}
	}()
	return w.config.Process.Do(ctx, item)
}

// unavailable reports whether an error is not the item's fault.
func unavailable(err error) bool { return domain.CodeOf(err) == domain.Unavailable }

// advance records the position of the last outcome.
func (w *Worker) advance(position eventlog.Position) {
	if !w.unshown || position.Compare(w.lastDone) > 0 {
		w.lastDone, w.unshown = position, true
	}
}

// failed counts a failed attempt, and gives up the item after too many. An error means that the process has to pause.
func (w *Worker) failed(ctx context.Context, a attempt) error {
	name := w.config.Process.Name
	w.config.Metrics.failures.WithLabelValues(name).Inc()
	f := w.failures.add(a.item, a.at)
	if f == nil {
		return fmt.Errorf("%d items fail; one more: item %s: %w", len(w.failures.items), a.item.ID, a.err)
	}
	if f.attempts >= w.limits.Attempts && !f.givenUp {
		return w.giveUp(ctx, f, a.err)
	}
	w.config.Logger.WarnContext(ctx, "an item of a to-do list failed, trying again", "process", name, "item", a.item.ID,
		"stream", a.item.Stream, "attempts", f.attempts, "after", time.Until(f.again), "error", a.err)
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
