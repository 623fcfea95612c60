package todo

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/recital-tts/recital/internal/eventlog"
)

// betweenLooks keeps a worker whose bell rings all the time from reading its list all the time.
const betweenLooks = 50 * time.Millisecond

// Worker carries out the items of one process.
type Worker struct {
	config  Config
	limits  Limits
	ring    <-chan struct{}
	started atomic.Bool

	outage    *backoff.ExponentialBackOff // pauses of the whole process
	trouble   *trouble
	done      map[key]bool      // the items of the last batch that have an outcome
	lastDone  eventlog.Position // where in the log the last outcome is
	unnoticed bool              // the list does not show lastDone yet
}

// NewWorker checks the configuration.
func NewWorker(config Config) (*Worker, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	config.setDefaults()
	config.Metrics.watch(config.Process)
	return &Worker{
		config:  config,
		limits:  config.Limits,
		ring:    config.Bell.listen(),
		outage:  doubling(config.Limits.FirstPause, config.Limits.OutagePause),
		trouble: newTrouble(config.Limits),
	}, nil
}

// Run works until ctx ends, through outages, and then returns nil. Items that are being carried out end first, with
// their context. It can be called once.
func (w *Worker) Run(ctx context.Context) error {
	if w.started.Swap(true) {
		return errors.New("the to-do worker has been started before")
	}
	select {
	case <-w.config.Ready:
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		wait, err := w.round(ctx)
		if err == nil {
			w.outage.Reset()
			w.sleep(ctx, wait)
			continue
		}
		w.pause(ctx, err)
	}
	return nil
}

// round works off what is due, and tells how long there is nothing to do.
func (w *Worker) round(ctx context.Context) (time.Duration, error) {
	mine, err := w.config.Turn(ctx)
	if err != nil {
		return 0, fmt.Errorf("asking whose turn it is: %w", err)
	}
	courtesy := time.Duration(0)
	if !mine {
		courtesy = w.limits.Courtesy
	}
	for {
		items, err := w.due(ctx, courtesy)
		if err != nil {
			return 0, err
		}
		if len(items) == 0 {
			w.done = nil
			return w.untilNext(ctx, courtesy)
		}
		if err := w.workOff(ctx, items); err != nil {
			return 0, err
		}
	}
}

// due reads the list, when it shows all that was done.
func (w *Worker) due(ctx context.Context, courtesy time.Duration) ([]Item, error) {
	if err := w.awaitList(ctx); err != nil {
		return nil, err
	}
	now := time.Now()
	by := now.Add(-courtesy)
	items, err := w.config.Process.List.Due(ctx, by, w.trouble.resting(now), w.limits.Batch)
	if err != nil {
		return nil, fmt.Errorf("reading what is due: %w", err)
	}
	w.trouble.forgetDone(items, by, now, len(items) == w.limits.Batch)
	w.config.Metrics.givenUp.WithLabelValues(w.config.Process.Name).Set(float64(w.trouble.givenUp()))
	return items, nil
}

// awaitList waits until the list shows the last outcome.
func (w *Worker) awaitList(ctx context.Context) error {
	if !w.unnoticed {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, w.limits.Timeout)
	defer cancel()
	if err := w.config.Shown(ctx, w.lastDone); err != nil {
		return fmt.Errorf("waiting for the to-do list: %w", err)
	}
	w.unnoticed = false
	return nil
}

func (w *Worker) untilNext(ctx context.Context, courtesy time.Duration) (time.Duration, error) {
	now := time.Now()
	by := now.Add(-courtesy)
	wait := min(w.limits.Poll, w.trouble.wait(by, now))
	next, found, err := w.config.Process.List.Next(ctx, by)
	if err != nil {
		return 0, fmt.Errorf("asking what is due next: %w", err)
	}
	if found {
		wait = min(wait, next.Sub(by))
	}
	return wait, nil
}

// sleep ends early when the bell rings.
func (w *Worker) sleep(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(max(wait, betweenLooks))
	defer timer.Stop()
	if !pause(ctx, betweenLooks) {
		return
	}
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-w.ring:
	}
}

// pause waits for the end of an outage.
func (w *Worker) pause(ctx context.Context, because error) {
	if ctx.Err() != nil {
		return
	}
	wait := w.outage.NextBackOff()
	w.config.Logger.WarnContext(ctx, "a to-do list cannot be worked off now, trying again",
		"process", w.config.Process.Name, "after", wait, "error", because)
	pause(ctx, wait)
}

// pause tells whether ctx lasted longer.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
