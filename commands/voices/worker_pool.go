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
	// attention is the time for which a to-do watches the making of a voice before other items have their turn.
	attention = time.Second
	// inattention is its pause after that.
	inattention = 500 * time.Millisecond
	// overShare is the pause of a voice while its account has its share of the places.
	overShare = time.Second
	// remembered is the time for which an error is kept for a to-do that may never return, because the voice was deleted
	// elsewhere.
	remembered = 10 * time.Minute
	// longestJob bounds one job of making a voice. A training continues in the next one.
	longestJob = time.Hour
)

// desk is where voices are made: a bounded number at once, in the background, so that a voice which takes minutes holds
// up no to-do list. A to-do looks after each.
type desk struct {
	places chan struct{}
	ctx    context.Context
	end    context.CancelFunc

	mu     sync.Mutex
	closed bool
	jobs   map[string]*job // by voice; also those that have failed until a to-do hears of it
	held   map[string]int  // places, by account
	run    sync.WaitGroup
}

// job is the making of a voice.
type job struct {
	cancel   context.CancelCauseFunc
	done     chan struct{}
	position eventlog.Position
	err      error
	ended    time.Time // with an error of which no to-do has heard
}

type work func(ctx context.Context) (eventlog.Position, error)

func newDesk(atOnce int) *desk {
	d := &desk{places: make(chan struct{}, atOnce), jobs: map[string]*job{}, held: map[string]int{}}
	d.ctx, d.end = context.WithCancel(context.Background())
	return d
}

func (d *desk) busy() int { return len(d.places) }

// attend begins the making of a voice if there is room, and watches it. It returns the outcome, or a *todo.NotYetError
// while there is none.
func (d *desk) attend(ctx context.Context, id string, do work) (eventlog.Position, error) {
	j := d.find(id, do)
	if j == nil {
		return eventlog.Position{}, &todo.NotYetError{After: inattention}
	}
	turn := time.NewTimer(attention)
	defer turn.Stop()
	select {
	case <-j.done:
		d.forget(id, j)
		return j.position, j.err
	case <-turn.C:
		return eventlog.Position{}, &todo.NotYetError{After: inattention}
	case <-ctx.Done():
		return eventlog.Position{}, context.Cause(ctx)
	}
}

// find returns the job of a voice, which it begins if there is none and room for it. Otherwise it returns nil.
func (d *desk) find(id string, do work) *job {
	d.mu.Lock()
	defer d.mu.Unlock()
	if j, known := d.jobs[id]; known || d.closed {
		return j
	}
	select {
	case d.places <- struct{}{}:
	default:
		return nil
	}
	maps.DeleteFunc(d.jobs, func(_ string, j *job) bool { return !j.ended.IsZero() && time.Since(j.ended) > remembered })
	j := &job{done: make(chan struct{})}
	ctx, cancel := context.WithCancelCause(d.ctx)
	j.cancel = cancel
	d.jobs[id] = j
	d.run.Go(func() { d.carryOut(ctx, id, j, do) })
	return j
}

func (d *desk) carryOut(ctx context.Context, id string, j *job, do work) {
	defer func() {
		if cause := recover(); cause != nil {
			j.err = panics.Error("making a voice", cause)
		}
		if cause := context.Cause(ctx); j.err != nil && errors.Is(cause, errUnwanted) {
			j.err = cause
		}
		j.cancel(nil)
		<-d.places
		d.ended(id, j)
		close(j.done)
	}()
	limited, cancel := context.WithTimeout(ctx, longestJob)
	defer cancel()
	j.position, j.err = do(limited)
}

// within does the work for an account unless that has its share: half of the places, so that one with many voices
// leaves room for others.
func (d *desk) within(account string, do func() error) error {
	if !d.hold(account) {
		return &todo.NotYetError{After: overShare}
	}
	defer d.release(account)
	return do()
}

func (d *desk) hold(account string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held[account] >= max(1, cap(d.places)/2) {
		return false
	}
	d.held[account]++
	return true
}

func (d *desk) release(account string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held[account]--; d.held[account] == 0 {
		delete(d.held, account)
	}
}

// ended keeps an error for the to-do. A success shows in the log.
func (d *desk) ended(id string, j *job) {
	if j.err == nil {
		d.forget(id, j)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	j.ended = time.Now()
}

func (d *desk) forget(id string, j *job) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.jobs[id] == j {
		delete(d.jobs, id)
	}
}

// errUnwanted ends the job of a deleted voice. It is no failure: the to-do tries again, and finds the voice deleted.
var errUnwanted error = &todo.NotYetError{}

// cancel ends the making of a voice that is not wanted any more.
func (d *desk) cancel(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if j, known := d.jobs[id]; known {
		j.cancel(errUnwanted)
		delete(d.jobs, id)
	}
}

func (d *desk) close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.end()
	d.run.Wait()
}

// bells wake requests that wait for voices.
type bells struct {
	mu      sync.Mutex
	waiting map[string]map[chan struct{}]bool
}

// listen returns a channel that gets an element when something has happened to a voice.
func (b *bells) listen(id string) (rung <-chan struct{}, stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	bell := make(chan struct{}, 1)
	if b.waiting == nil {
		b.waiting = map[string]map[chan struct{}]bool{}
	}
	if b.waiting[id] == nil {
		b.waiting[id] = map[chan struct{}]bool{}
	}
	b.waiting[id][bell] = true
	return bell, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.waiting[id], bell)
		if len(b.waiting[id]) == 0 {
			delete(b.waiting, id)
		}
	}
}

func (b *bells) ring(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for bell := range b.waiting[id] {
		select {
		case bell <- struct{}{}:
		default:
		}
	}
}
