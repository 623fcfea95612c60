package codec

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/recital-tts/recital/internal/process/supervise"
)

// replacing is the policy for restarting processes.
var replacing = supervise.Policy{
	FirstDelay: 50 * time.Millisecond, LongestDelay: 5 * time.Second, Steady: 10 * time.Second,
}

// supervise keeps a process and its replacements running until ctx ends.
func (p *Pool) supervise(ctx context.Context, proc *process) {
	supervise.Child[*process]{
		Name: "codec", Start: p.replacement, Serve: p.watch, Policy: replacing, Logger: p.config.Logger,
	}.Keep(ctx, proc)
}

func (p *Pool) replacement(context.Context) (*process, error) {
	proc, err := startProcess(p.config)
	if err != nil {
		return nil, err
	}
	p.add(proc)
	return proc, nil
}

// watch removes a process from the pool when it exits or ctx ends.
func (p *Pool) watch(ctx context.Context, proc *process) (useful bool, err error) {
	select {
	case <-ctx.Done():
	case <-proc.ended:
	}
	p.remove(proc)
	proc.close()
	return false, fmt.Errorf("process %d: %w (exit: %v)", proc.worker.PID(), proc.cause(), proc.worker.Err())
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

// announce wakes the callers that wait for a change. p.mu must be held.
func (p *Pool) announce() {
	close(p.changed)
	p.changed = make(chan struct{})
}
