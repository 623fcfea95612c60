package worker

import (
	"context"
	"sync/atomic"

	"github.com/recital-tts/recital/internal/speech"
)

// overtakeLimit is the number of first segments that may be taken in a row while a later segment waits.
const overtakeLimit = 4

// task is a job that waits for a process.
type task struct {
	job       speech.Job
	utterance *utterance
	taken     chan error // receives nil once a process has the job, or the reason for its refusal
}

// queue distributes tasks to processes: first segments before later ones, oldest first among equals. A task stays with
// its sender until a process receives it, so that it is lost neither with a process nor with a client. Senders wait in
// the order of their arrival, as do idle processes.
type queue struct {
	first, later line
	overtook     atomic.Int64 // first segments taken in a row while a later one waited
}

// line is the tasks of one kind.
type line struct {
	tasks   chan *task
	waiting atomic.Int64
}

func newQueue() *queue {
	return &queue{first: line{tasks: make(chan *task)}, later: line{tasks: make(chan *task)}}
}

// pass waits until a process has the task, or for the reason why none will have it.
func (q *queue) pass(ctx context.Context, closed <-chan struct{}, t *task) error {
	l := &q.later
	if t.job.First {
		l = &q.first
	}
	l.waiting.Add(1)
	defer l.waiting.Add(-1)
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case l.tasks <- t:
		return <-t.taken
	case <-closed:
		return speech.ErrEngineClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// take waits for a task until ctx ends or the process has died.
func (q *queue) take(ctx context.Context, died <-chan struct{}) (t *task, ok bool) {
	if t = q.next(); t != nil {
		return t, true
	}
	select {
	case t = <-q.first.tasks:
	case t = <-q.later.tasks:
	case <-died:
	case <-ctx.Done():
	}
	return t, t != nil
}

// next returns the next waiting task, or nil.
func (q *queue) next() *task {
	if q.later.waiting.Load() == 0 || q.overtook.Load() < overtakeLimit {
		if t := q.first.poll(); t != nil {
			q.overtook.Add(min(1, q.later.waiting.Load()))
			return t
		}
	}
	q.overtook.Store(0)
	if t := q.later.poll(); t != nil {
		return t
	}
	return q.first.poll()
}

func (l *line) poll() *task {
	select {
	case t := <-l.tasks:
		return t
	default:
		return nil
	}
}

// refuse refuses the waiting tasks.
func (q *queue) refuse(why error) {
	for t := q.next(); t != nil; t = q.next() {
		t.taken <- why
	}
}

func (q *queue) len() int { return int(q.first.waiting.Load() + q.later.waiting.Load()) }
