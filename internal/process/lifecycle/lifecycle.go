// Package lifecycle defines the contract of a program's services: each is a Part with a stop, and a failure that ends
// the program. A Group stops parts in the reverse order of their start.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Part is one service. All functions are optional.
type Part struct {
	Name string // in errors, such as "the event node"
	// Run runs the part until ctx ends or Stop is called. If it returns earlier, with or without an error, the part has
	// failed.
	Run func(ctx context.Context) error
	// Stop stops the part. It is called once, before the context of Run ends.
	Stop func() error
}

// Closing returns a part that is already running and is stopped by close.
func Closing(name string, close func() error) Part { return Part{Name: name, Stop: close} }

// Background returns a part that runs until its context ends.
func Background(name string, run func(context.Context) error) Part { return Part{Name: name, Run: run} }

// Group is the set of parts of a program. The zero value is an empty group. Add and Stop are called by one goroutine
// at a time.
type Group struct {
	parts  []*running // in the order of their start
	once   sync.Once
	failed chan error
}

// Add adds and runs parts.
func (g *Group) Add(parts ...Part) {
	for _, p := range parts {
		g.parts = append(g.parts, g.run(p))
	}
}

// Wait returns nil when ctx ends, or the error of a part that has failed.
func (g *Group) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-g.failures():
		return err
	}
}

// Stop stops all parts in the reverse order of their start, and waits for each of them before the next one. Calling it
// again has no effect.
func (g *Group) Stop() error {
	var errs []error
	for _, r := range slices.Backward(g.parts) {
		if err := r.stop(); err != nil {
			errs = append(errs, fmt.Errorf("closing %s: %w", r.part.Name, err))
		}
	}
	g.parts = nil
	return errors.Join(errs...)
}

func (g *Group) failures() chan error {
	g.once.Do(func() { g.failed = make(chan error, 1) })
	return g.failed
}

// fail reports the first failure. Later ones are ignored, because the program is already ending.
func (g *Group) fail(err error) {
	select {
	case g.failures() <- err:
	default:
	}
}

// Job is work that runs immediately and then at intervals. A failure is logged, and the job runs again after the
// interval.
type Job struct {
	Name   string // such as "the sweep of clips"
	Every  time.Duration
	After  <-chan struct{} // closed at the time of the first run; nil means immediately
	Do     func(ctx context.Context) error
	Logger *slog.Logger
}

// Part returns the job as a part of a group.
func (j Job) Part() Part { return Background(j.Name, j.run) }

// run returns nil when ctx ends.
func (j Job) run(ctx context.Context) error {
	if !j.awaitStart(ctx) {
		return nil
	}
	ticker := time.NewTicker(j.Every)
	defer ticker.Stop()
	for {
		if err := j.Do(ctx); err != nil && ctx.Err() == nil {
			j.Logger.WarnContext(ctx, "a job failed", "job", j.Name, "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// awaitStart waits for the first run, and returns false if ctx ends before.
func (j Job) awaitStart(ctx context.Context) bool {
	if j.After == nil {
		return true
	}
	select {
	case <-j.After:
		return true
	case <-ctx.Done():
		return false
	}
}
