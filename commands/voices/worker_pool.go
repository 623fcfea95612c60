package voices

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/process/panics"
)

const (
	// watchTime is the time for which a to-do watches the making of a voice before other items have their turn.
	watchTime = time.Second
	// watchPause is the pause after that.
	watchPause = 500 * time.Millisecond
	// overShare is the pause of a voice while its account has its share of the slots.
	overShare = time.Second
	// remembered is the time for which an error is kept for a to-do that may never return, because the voice was deleted
	// elsewhere.
	remembered = 10 * time.Minute
	// longestJob bounds one job of making a voice. A training continues in the next one.
	longestJob = time.Hour
)

// workerPool makes voices in the background, a bounded number at a time, so that a voice that takes minutes does not
// block a to-do list. A to-do watches each.
type workerPool struct {
	slots chan struct{}
	ctx   context.Context
	end   context.CancelFunc

	mu           sync.Mutex
	closed       bool
	jobs         map[string]*job // by voice; a failed one stays until a to-do has read its error
	accountSlots map[string]int  // taken, by account
	run          sync.WaitGroup
}

// job is the making of a voice.
type job struct {
	cancel   context.CancelCauseFunc
	done     chan struct{}
	position eventlog.Position
	err      error
	ended    time.Time // zero unless an error is still to be read by a to-do
}

type work func(ctx context.Context) (eventlog.Position, error)

func newWorkerPool(atOnce int) *workerPool {
	p := &workerPool{slots: make(chan struct{}, atOnce), jobs: map[string]*job{}, accountSlots: map[string]int{}}
	p.ctx, p.end = context.WithCancel(context.Background())
	return p
}

func (p *workerPool) busy() int { return len(p.slots) }

// watch begins the making of a voice if a slot is free, and watches it for watchTime. It returns the outcome, or a
// *todo.NotYetError while there is none.
func (p *workerPool) watch(ctx context.Context, id string, do work) (eventlog.Position, error) {
	j := p.find(id, do)
	if j == nil {
		return eventlog.Position{}, &todo.NotYetError{After: watchPause}
	}
	turn := time.NewTimer(watchTime)
	defer turn.Stop()
	select {
	case <-j.done:
		p.forget(id, j)
		return j.position, j.err
	case <-turn.C:
		return eventlog.Position{}, &todo.NotYetError{After: watchPause}
	case <-ctx.Done():
		return eventlog.Position{}, context.Cause(ctx)
	}
}

// find returns the job of a voice. It begins the job if there is none and a slot is free, and otherwise returns nil.
func (p *workerPool) find(id string, do work) *job {
	p.mu.Lock()
	defer p.mu.Unlock()
	if j, known := p.jobs[id]; known || p.closed {
		return j
	}
	select {
	case p.slots <- struct{}{}:
	default:
		return nil
	}
	maps.DeleteFunc(p.jobs, func(_ string, j *job) bool { return !j.ended.IsZero() && time.Since(j.ended) > remembered })
	j := &job{done: make(chan struct{})}
	ctx, cancel := context.WithCancelCause(p.ctx)
	j.cancel = cancel
	p.jobs[id] = j
	p.run.Go(func() { p.carryOut(ctx, id, j, do) })
	return j
}

func (p *workerPool) carryOut(ctx context.Context, id string, j *job, do work) {
	defer func() {
		if cause := recover(); cause != nil {
			j.err = panics.Error("making a voice", cause)
		}
		if cause := context.Cause(ctx); j.err != nil && errors.Is(cause, errUnwanted) {
			j.err = cause
		}
		j.cancel(nil)
		<-p.slots
		p.ended(id, j)
		close(j.done)
	}()
	limited, cancel := context.WithTimeout(ctx, longestJob)
	defer cancel()
	j.position, j.err = do(limited)
}

// within runs do for an account, unless the account has its share: half of the slots, so that others can make voices,
// too.
func (p *workerPool) within(account string, do func() error) error {
	if !p.hold(account) {
		return &todo.NotYetError{After: overShare}
	}
	defer p.release(account)
	return do()
}

func (p *workerPool) hold(account string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.accountSlots[account] >= max(1, cap(p.slots)/2) {
		return false
	}
	p.accountSlots[account]++
	return true
}

func (p *workerPool) release(account string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.accountSlots[account]--; p.accountSlots[account] == 0 {
		delete(p.accountSlots, account)
	}
}

// ended keeps an error for the to-do. A success is in the log.
func (p *workerPool) ended(id string, j *job) {
	if j.err == nil {
		p.forget(id, j)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	j.ended = time.Now()
}

func (p *workerPool) forget(id string, j *job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.jobs[id] == j {
		delete(p.jobs, id)
	}
}

// errUnwanted ends the job of a deleted voice. It is no failure: the to-do tries again, and finds the voice deleted.
var errUnwanted error = &todo.NotYetError{}

// cancel stops the making of a deleted voice.
func (p *workerPool) cancel(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if j, known := p.jobs[id]; known {
		j.cancel(errUnwanted)
		delete(p.jobs, id)
	}
}

func (p *workerPool) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.end()
	p.run.Wait()
}
