package ledger

import (
	"context"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/process/tracing"
)

// maxBatch is the number of tasks that share one append, and maxExpired the number of reservations that expire in it. A
// log accepts appends of at most 1 MiB. An event has about 400 bytes, and a snapshot at most 350 KiB.
const (
	maxBatch   = 128
	maxExpired = 500
)

type (
	command = journal.Decider[ledger.State, ledger.Event]
	batch   = journal.Batch[ledger.State, ledger.Event]
)

// task is a command on a period. A task without a command only reads the state and expires reservations that are due.
type task struct {
	ctx     context.Context
	meta    journal.Metadata
	command command
	done    chan outcome // of capacity 1
}

type outcome struct {
	stream    string
	position  eventlog.Position
	state     ledger.State // directly after the task, without later tasks of the same append
	conflicts int
	err       error
}

// queue executes the tasks of one stream, in order.
type queue struct {
	ledger  *Ledger
	stream  string
	waiting []task // guarded by Ledger.mu
	period  *journal.Cached[ledger.State, ledger.Event]
}

func newQueue(l *Ledger, stream string) *queue {
	return &queue{ledger: l, stream: stream, period: journal.NewCached(l.journal, periodStream(stream))}
}

func periodStream(name string) journal.Stream[ledger.State, ledger.Event] {
	return journal.Stream[ledger.State, ledger.Event]{
		Name: name, Evolve: ledger.Evolve, Snapshot: ledger.State.Snapshot,
	}
}

// work runs while there are tasks.
func (q *queue) work() {
	for {
		tasks := q.ledger.next(q)
		if len(tasks) == 0 {
			return
		}
		q.carryOut(tasks)
	}
}

func (q *queue) carryOut(tasks []task) {
	tasks = withoutEnded(tasks)
	if len(tasks) == 0 {
		return
	}
	outcomes, conflicts, err := q.write(tasks)
	for i, t := range tasks {
		if err != nil {
			t.done <- outcome{conflicts: conflicts, err: err}
			continue
		}
		outcomes[i].position, outcomes[i].conflicts = q.period.Version().Position, conflicts
		t.done <- outcomes[i]
	}
}

// write decides the tasks, appends the events in the trace of the first one, and returns the outcome of each. If too
// many reservations have expired for one append, it first appends some of these alone.
func (q *queue) write(tasks []task) (outcomes []outcome, conflicts int, err error) {
	for more := true; more; {
		ctx, cancel := context.WithTimeout(tracing.Carry(context.Background(), tasks[0].ctx), appendTimeout)
		again, err := q.period.Batch(ctx, func(decided *batch) { outcomes, more = q.decide(decided, tasks) })
		cancel()
		conflicts += again
		if err != nil {
			return nil, conflicts, err
		}
	}
	q.ledger.seen.note(q.stream, q.period.State().Open)
	return outcomes, conflicts, nil
}

// decide adds the tasks' events to a batch, after expiring reservations that have been open for too long.
func (q *queue) decide(decided *batch, tasks []task) (outcomes []outcome, more bool) {
	state := decided.State()
	at := tasks[len(tasks)-1].meta.Time
	expired, _ := q.ledger.expiry(q.ledger.seen.note(q.stream, state.Open), at).Decide(state)
	for i, event := range expired {
		if i == maxExpired {
			return nil, true
		}
		decided.Append(expiryMetadata(event.(ledger.Expired).Reservation, at), event)
	}
	outcomes = make([]outcome, len(tasks))
	for i, t := range tasks {
		err := decided.Add(t.command, t.meta)
		outcomes[i] = outcome{state: decided.State(), err: err}
	}
	return outcomes, false
}

// look is the command of a task that only reads.
type look struct{}

// Decide implements journal.Decider.
func (look) Decide(ledger.State) ([]ledger.Event, error) { return nil, nil }

func withoutEnded(tasks []task) []task {
	kept := make([]task, 0, len(tasks))
	for _, t := range tasks {
		if err := t.ctx.Err(); err != nil {
			t.done <- outcome{err: err}
			continue
		}
		kept = append(kept, t)
	}
	return kept
}
