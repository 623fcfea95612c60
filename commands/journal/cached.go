package journal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Cached keeps the state of a stream between commands, so that a command usually costs one append and no read. The state
// may be stale, because other instances append, too: the append then conflicts, and the newer events are read. A command
// that appends nothing is decided on a state that was just read. Cached is not safe for concurrent use.
type Cached[S, E any] struct {
	journal *Journal
	stream  Stream[S, E]
	skips   int // the version of what is skipped, for which the state was folded
	loaded[S]
}

// NewCached returns the cache of a stream. It reads nothing yet.
func NewCached[S, E any](j *Journal, s Stream[S, E]) *Cached[S, E] {
	if s.Load == nil {
		s.Load = Whole[S, E]
	}
	s.Evolve = withoutSkipped(s.Evolve)
	c := &Cached[S, E]{journal: j, stream: s}
	c.forget()
	return c
}

// withoutSkipped leaves the state as it is at an event that an operator has skipped.
func withoutSkipped[S, E any](evolve func(S, E) S) func(S, E) S {
	return func(state S, event E) S {
		if any(event) == nil {
			return state
		}
		return evolve(state, event)
	}
}

// State returns the state that was last read or written.
func (c *Cached[S, E]) State() S { return c.state }

// Version returns the version of State.
func (c *Cached[S, E]) Version() Version { return c.version }

// Execute carries a command out like the function Execute, on the state that is kept.
func (c *Cached[S, E]) Execute(ctx context.Context, command Decider[S, E], meta Metadata) (S, eventlog.Position, error) {
	begun, name := time.Now(), NameOf(command)
	ctx, span := Trace(ctx, name)
	var refusal error
	conflicts, err := c.Batch(ctx, func(state S) *Batch[S, E] {
		batch := NewBatch(c.stream.Evolve, state)
		refusal = batch.Add(command, meta)
		return batch
	})
	if err == nil {
		err = refusal
	}
	span.End(conflicts, err)
	c.journal.Ended(Observation{Command: name, Took: time.Since(begun), Conflicts: conflicts, Err: err})
	return c.state, c.version.Position, err
}

// Batch appends what decide puts together, in one append. decide is called again, on a state that was just read, after a
// conflict and if its batch is valid only on such a state. Batch returns the number of conflicts.
func (c *Cached[S, E]) Batch(ctx context.Context, decide func(S) *Batch[S, E]) (conflicts int, err error) {
	for read := !c.known || c.skips != c.journal.Registry.SkipsVersion(); ; read = true {
		if read {
			if err := c.Refresh(ctx); err != nil {
				return conflicts, err
			}
		}
		batch := decide(c.state)
		if batch.needsFresh && !read {
			continue
		}
		err := c.append(ctx, batch)
		var conflict *eventlog.ConflictError
		if !errors.As(err, &conflict) {
			return conflicts, err
		}
		conflicts++
		if conflict.Actual < c.version.Revision { // the log was put back to an earlier state: nothing is newer than ours
			c.forget()
		}
	}
}

// forget makes the next read begin anew.
func (c *Cached[S, E]) forget() {
	c.loaded = loaded[S]{}
	c.version.Revision = eventlog.NoStream
}

// Refresh reads what is newer than the state, or all of it anew once operators have changed which events are skipped.
func (c *Cached[S, E]) Refresh(ctx context.Context) error {
	if skips := c.journal.Registry.SkipsVersion(); c.skips != skips {
		c.forget()
		c.skips = skips
	}
	return c.stream.Load(ctx, c.journal, c.stream, &c.loaded)
}

// append writes a batch, followed by a snapshot if one is due, and advances to the state after it.
func (c *Cached[S, E]) append(ctx context.Context, batch *Batch[S, E]) error {
	if len(batch.writes) == 0 {
		return nil
	}
	if err := c.addSnapshot(batch); err != nil {
		return err
	}
	var proposed []eventlog.Proposed
	for _, w := range batch.writes {
		encoded, err := encode(c.journal.Registry, c.journal.sealed(ctx, w.meta), w.events)
		if err != nil {
			return err
		}
		proposed = append(proposed, encoded...)
	}
	appended, err := c.journal.Log.Append(ctx, c.stream.Name, c.version.Revision, proposed)
	if err != nil {
		return fmt.Errorf("appending to %s: %w", c.stream.Name, err)
	}
	c.state, c.version = batch.state, Version{Revision: appended.Revision, Position: appended.Position}
	return nil
}

// addSnapshot adds the snapshot that the batch makes due, if any. There is none while an event of the stream is skipped: it
// would lack the event after that one is not skipped any more. Its id derives from the version that the batch was
// decided on, so that a repeated append is identical.
func (c *Cached[S, E]) addSnapshot(batch *Batch[S, E]) error {
	if c.stream.Snapshot == nil || c.journal.Registry.SkipsIn(c.stream.Name) {
		return nil
	}
	at := batch.writes[len(batch.writes)-1].meta.Time
	id := DeriveID(c.stream.Name+" after "+strconv.FormatInt(int64(c.version.Revision), 10), "snapshot")
	if err := batch.Add(c.stream.Snapshot(at), System().Metadata(id, at)); err != nil {
		return fmt.Errorf("taking a snapshot of %s: %w", c.stream.Name, err)
	}
	return nil
}

func encode[E any](registry *eventlog.Registry, meta eventlog.Metadata, events []E) ([]eventlog.Proposed, error) {
	boxed := make([]any, len(events))
	for i, event := range events {
		boxed[i] = event
	}
	proposed, err := registry.Encode(meta.CommandID, 0, meta, boxed...)
	if err != nil {
		return nil, fmt.Errorf("encoding events: %w", err)
	}
	return proposed, nil
}

// NameOf returns the name of a command in metrics: that of its type.
func NameOf[S, E any](command Decider[S, E]) string {
	if sequence, ok := command.(Sequence[S, E]); ok {
		return NameOf(sequence.Commands[len(sequence.Commands)-1])
	}
	return fmt.Sprintf("%T", command)
}
