package codec

import (
	"context"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const (
	firstDelay = 50 * time.Millisecond // before a process is replaced; it grows while replacements fail
	longDelay  = 5 * time.Second
	steady     = 10 * time.Second // a process that lived as long starts with the first delay again
)

// supervise replaces proc, and what replaced it, until ctx ends.
func (p *Pool) supervise(ctx context.Context, proc *process) {
	delays := &backoff.ExponentialBackOff{
		InitialInterval: firstDelay, MaxInterval: longDelay, Multiplier: 2, RandomizationFactor: 0.2,
	}
	delays.Reset()
	for proc != nil {
		started := time.Now()
		select {
		case <-ctx.Done():
			p.remove(proc)
			proc.close()
			return
		case <-proc.ended:
		}
		p.remove(proc)
		p.config.Logger.Warn("a codec process ended", "pid", proc.worker.PID(), "reason", proc.cause(), "exit", proc.worker.Err())
		if time.Since(started) > steady {
			delays.Reset()
		}
		proc = p.replacement(ctx, delays)
	}
}

// replacement starts a process, with growing delays; nil when ctx ended.
func (p *Pool) replacement(ctx context.Context, delays *backoff.ExponentialBackOff) *process {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(delays.NextBackOff()):
		}
		proc, err := startProcess(p.config)
		if err != nil {
			p.config.Logger.Error("a codec process cannot be started", "error", err)
			continue
		}
		p.add(proc)
		return proc
	}
}

func (p *Pool) add(proc *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.procs = append(slices.Clone(p.procs), proc)
	p.restarts++
	p.announce()
}

func (p *Pool) remove(proc *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.procs = slices.DeleteFunc(slices.Clone(p.procs), func(other *process) bool { return other == proc })
	p.announce()
}

// announce wakes what waits for a change. It is called with the mutex held.
func (p *Pool) announce() {
	close(p.changed)
	p.changed = make(chan struct{})
}
