// Package supervise keeps child processes running. A process that exits is restarted: immediately if it was useful, and
// otherwise after a growing pause, so that a broken program does not spin.
package supervise

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/recital-tts/recital/internal/process/pause"
)

// Policy determines the delay before a process is restarted.
type Policy struct {
	FirstDelay   time.Duration // after a process that was not useful
	LongestDelay time.Duration // the delay doubles up to it, apart from the jitter
	Steady       time.Duration // a process that ran this long was useful; 0 means that time is not a criterion
}

// jitter is the random share of a delay. It prevents processes that ended together from starting together.
const jitter = 0.2

// Child is a child process that is kept running. P is a running process.
type Child[P any] struct {
	Name string // in log lines, such as "codec"
	// Start starts a process and returns when it is ready to serve.
	Start func(ctx context.Context) (P, error)
	// Serve returns when the process has ended: by itself, with the reason, or because ctx ended and Serve stopped it. It
	// reports whether the process was useful, in which case the next one is started immediately.
	Serve func(ctx context.Context, process P) (useful bool, err error)
	// Failing is called with the reason when two consecutive processes, or more, were not useful. It is optional.
	Failing func(reason error)
	Policy  Policy
	Logger  *slog.Logger
}

// Run starts a process and keeps one running until ctx ends. It returns when the last one is stopped.
func (c Child[P]) Run(ctx context.Context) { c.repeat(ctx, c.newHistory()) }

// Keep is Run for a process that is already running.
func (c Child[P]) Keep(ctx context.Context, process P) {
	h := c.newHistory()
	c.pause(ctx, h, c.serve(ctx, process))
	c.repeat(ctx, h)
}

func (c Child[P]) repeat(ctx context.Context, h *history) {
	for ctx.Err() == nil {
		c.pause(ctx, h, c.live(ctx))
	}
}

// end describes how a process ended.
type end struct {
	useful bool
	err    error
}

// live runs one process from its start to its end.
func (c Child[P]) live(ctx context.Context) end {
	process, err := c.Start(ctx)
	if err != nil {
		return end{err: fmt.Errorf("starting it: %w", err)}
	}
	return c.serve(ctx, process)
}

func (c Child[P]) serve(ctx context.Context, process P) end {
	began := time.Now()
	useful, err := c.Serve(ctx, process)
	if c.Policy.Steady > 0 && time.Since(began) >= c.Policy.Steady {
		useful = true
	}
	return end{useful: useful, err: err}
}

// history determines the next delay.
type history struct {
	delays  *backoff.ExponentialBackOff
	useless int // consecutive processes that were not useful
}

func (c Child[P]) newHistory() *history {
	h := &history{delays: &backoff.ExponentialBackOff{
		InitialInterval: c.Policy.FirstDelay, MaxInterval: c.Policy.LongestDelay, Multiplier: 2, RandomizationFactor: jitter,
	}}
	h.delays.Reset()
	return h
}

// pause logs why a process ended and waits until the next one may start.
func (c Child[P]) pause(ctx context.Context, h *history, e end) {
	if ctx.Err() != nil {
		return
	}
	if e.useful {
		h.useless = 0
		h.delays.Reset()
		c.Logger.Warn("a child process ended and is replaced", "child", c.Name, "error", e.err)
		return
	}
	if h.useless++; h.useless > 1 && c.Failing != nil {
		c.Failing(e.err)
	}
	delay := h.delays.NextBackOff()
	c.Logger.Error("a child process cannot be kept running", "child", c.Name, "error", e.err, "in_a_row", h.useless,
		"retry_in", delay)
	_ = pause.For(ctx, delay) // the caller notices the end
}
