package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/eventlog"
)

// maxBatch is how many tasks share one append, and maxExpired how many reservations expire in it: a log takes an append
// of 1 MiB at most. An event is about 400 bytes, and a sum 350 KiB at most.
const (
	maxBatch   = 128
	maxExpired = 500
)

// task is a command on a period, with the one that opens the period before it where that may be needed.
type task struct {
	ctx      context.Context
	order    Order
	commands []decider[ledger.State, ledger.Event]
	done     chan outcome // of capacity 1
}

type outcome struct {
	stream   string
	position eventlog.Position
	state    ledger.State // right after the task, before those that shared its append
	err      error
}

// queue works the tasks of one stream off, in order. It keeps the state between them. That state may be old, because
// other instances append too: an append then conflicts, and what needs no append is decided on a fresh read.
type queue struct {
	ledger  *Ledger
	stream  string
	waiting []task // guarded by Ledger.mu

	state ledger.State
	at    place // of state; the zero place before the first read
	begun bool  // something was read
}

// work runs while tasks wait.
func (q *queue) work() {
	for {
		batch := q.ledger.next(q)
		if len(batch) == 0 {
			return
		}
		q.carryOut(batch)
	}
}

func (q *queue) carryOut(batch []task) {
	batch = leaveOutEnded(batch)
	if len(batch) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), appendTimeout)
	defer cancel()
	results, err := q.write(ctx, batch)
	for i, t := range batch {
		if err != nil {
			t.done <- outcome{err: err}
			continue
		}
		t.done <- outcome{position: q.at.position, state: results[i].state, err: results[i].refusal}
	}
}

// write decides on the batch and appends what was decided. After a conflict it decides anew. It returns what became of
// each task.
func (q *queue) write(ctx context.Context, batch []task) ([]result, error) {
	for fresh := false; ; {
		if fresh || !q.begun {
			if err := q.catchUp(ctx); err != nil {
				return nil, err
			}
			fresh = true
		}
		d := q.decide(batch)
		if d.broken != nil {
			return nil, d.broken
		}
		if d.needsFresh && !fresh {
			fresh = true
			continue
		}
		err := q.append(ctx, d)
		if conflict := new(eventlog.ConflictError); errors.As(err, &conflict) {
			fresh = true
			continue
		}
		if err != nil {
			return nil, err
		}
		if !d.more {
			return d.results, nil
		}
	}
}

// append writes what was decided, if anything, and moves on to the state after it.
func (q *queue) append(ctx context.Context, d decision) error {
	if len(d.proposed) == 0 {
		return nil
	}
	appended, err := q.ledger.journal.Log.Append(ctx, q.stream, q.at.revision, d.proposed)
	if err != nil {
		return fmt.Errorf("appending to %s: %w", q.stream, err)
	}
	q.state, q.at = d.state, place{revision: appended.Revision, position: appended.Position}
	return nil
}

// catchUp folds what the stream has beyond the state: from where the state ends, or from the last sum if that is nearer.
func (q *queue) catchUp(ctx context.Context) error {
	state, at, known := q.state, q.at, q.begun
	if !known {
		at = place{revision: eventlog.NoStream}
	}
	var newer []ledger.Event
	last := at
	for recorded, err := range q.ledger.journal.Log.ReadStreamBackwards(ctx, q.stream) {
		if err != nil {
			return fmt.Errorf("reading %s backwards: %w", q.stream, err)
		}
		if known && eventlog.Revision(recorded.Revision) <= at.revision {
			break
		}
		event, err := decode[ledger.Event](q.ledger.journal.Registry, recorded)
		if err != nil {
			return err
		}
		if len(newer) == 0 {
			last = place{revision: eventlog.Revision(recorded.Revision), position: recorded.Position}
		}
		newer = append(newer, event)
		if _, sum := event.(ledger.Summed); sum {
			break
		}
	}
	for _, event := range slices.Backward(newer) {
		state = ledger.Evolve(state, event)
	}
	q.state, q.at, q.begun = state, last, true
	return nil
}

// decision is what a batch comes to.
type decision struct {
	state      ledger.State
	proposed   []eventlog.Proposed
	results    []result // by task
	needsFresh bool     // a task was refused, or changed nothing: that holds only on a state that was just read
	more       bool     // too much has expired for one append: the tasks have not had their turn
	broken     error    // the events could not be encoded
}

// result is what a task comes to.
type result struct {
	state   ledger.State // after it
	refusal error
}

// decide carries the batch out on the state: first what has expired, then the tasks, then a sum when one is due.
func (q *queue) decide(batch []task) decision {
	d := decision{state: q.state, results: make([]result, len(batch))}
	at := batch[len(batch)-1].order.At
	expired, _ := ledger.Expire{At: at}.Decide(d.state)
	for i, event := range expired {
		if i == maxExpired {
			d.more = true
			return d
		}
		reservation := event.(ledger.Expired).Reservation
		d.add(q.ledger.journal.Registry, expiryOrder(reservation, at), event)
	}
	for i, t := range batch {
		events, err := t.decide(d.state)
		if len(events) == 0 {
			d.needsFresh = true
		} else {
			d.add(q.ledger.journal.Registry, t.order, events...)
		}
		d.results[i] = result{state: d.state, refusal: err}
	}
	if sums, _ := (ledger.Sum{At: at}).Decide(d.state); len(sums) > 0 {
		d.add(q.ledger.journal.Registry, systemOrder(commandFor(fmt.Sprintf("%s after %d", q.stream, q.at.revision), "sum"), at), sums...)
	}
	return d
}

// decide is what a task's commands come to together: all, or nothing when one of them is refused.
func (t task) decide(state ledger.State) ([]ledger.Event, error) {
	var events []ledger.Event
	for _, command := range t.commands {
		decided, err := command.Decide(state)
		if err != nil {
			return nil, err
		}
		for _, event := range decided {
			state = ledger.Evolve(state, event)
		}
		events = append(events, decided...)
	}
	return events, nil
}

func (d *decision) add(registry *eventlog.Registry, order Order, events ...ledger.Event) {
	proposed, err := encode(registry, order, events)
	if err != nil {
		d.broken = err
		return
	}
	d.proposed = append(d.proposed, proposed...)
	for _, event := range events {
		d.state = ledger.Evolve(d.state, event)
	}
}

// commandFor is the id of a command that follows from something with an id, so that it is the same in every instance.
func commandFor(id, what string) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(what+" "+id))
}

func leaveOutEnded(batch []task) []task {
	kept := make([]task, 0, len(batch))
	for _, t := range batch {
		if err := t.ctx.Err(); err != nil {
			t.done <- outcome{err: err}
			continue
		}
		kept = append(kept, t)
	}
	return kept
}
