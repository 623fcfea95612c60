package worker

import (
	"context"
	"slices"
	"sync"

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

// queue distributes tasks to processes: first segments before later ones, oldest first among equals.
type queue struct {
	mu       sync.Mutex
	closed   bool
	first    []*task
	later    []*task
	overtook int          // first segments taken in a row while a later one waited
	idle     []chan *task // channels of the idle processes, longest idle first; each has room for one task
}

// push adds a task, or passes it to an idle process.
func (q *queue) push(t *task) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return speech.ErrEngineClosed
	}
	q.hand(t)
	return nil
}

func (q *queue) hand(t *task) {
	if len(q.idle) > 0 {
		q.idle[0] <- t
		q.idle = q.idle[1:]
		return
	}
	if t.job.First {
		q.first = append(q.first, t)
		return
	}
	q.later = append(q.later, t)
}

// take waits for a task until ctx ends or the process has died.
func (q *queue) take(ctx context.Context, died <-chan struct{}) (*task, bool) {
	q.mu.Lock()
	if t := q.pop(); t != nil {
		q.mu.Unlock()
		return t, true
	}
	turn := make(chan *task, 1)
	q.idle = append(q.idle, turn)
	q.mu.Unlock()
	select {
	case t := <-turn:
		return t, true
	case <-died:
	case <-ctx.Done():
	}
	q.leave(turn)
	return nil, false
}

// leave removes a process from the idle ones. It passes on a task that the process has received meanwhile.
func (q *queue) leave(turn chan *task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.idle, turn); i >= 0 {
		q.idle = slices.Delete(q.idle, i, i+1)
		return
	}
	t := <-turn
	switch {
	case q.closed:
		t.taken <- speech.ErrEngineClosed
	case len(q.idle) > 0:
		q.hand(t)
	case t.job.First:
		q.first = slices.Insert(q.first, 0, t)
	default:
		q.later = slices.Insert(q.later, 0, t)
	}
}

func (q *queue) pop() *task {
	from := &q.later
	if len(q.first) > 0 && (len(q.later) == 0 || q.overtook < overtakeLimit) {
		from = &q.first
	}
	if len(*from) == 0 {
		return nil
	}
	q.overtook++
	if from == &q.later || len(q.later) == 0 {
		q.overtook = 0
	}
	t := (*from)[0]
	(*from)[0] = nil
	*from = (*from)[1:]
	return t
}

// remove drops a cancelled task.
func (q *queue) remove(t *task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	same := func(other *task) bool { return other == t }
	q.first = slices.DeleteFunc(q.first, same)
	q.later = slices.DeleteFunc(q.later, same)
}

// close refuses all waiting and future tasks.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.refuse(speech.ErrEngineClosed)
}

// refuse refuses the waiting tasks.
func (q *queue) refuse(why error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, t := range slices.Concat(q.first, q.later) {
		t.taken <- why
	}
	q.first, q.later = nil, nil
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.first) + len(q.later)
}
