package journal

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Decider is a command of an aggregate. Decide is called again after a conflict.
type Decider[S, E any] interface {
	Decide(state S) ([]E, error)
}

// Execute executes a command on a stream. After a conflict the command is decided again, until ctx ends. Execute
// returns the state after the command and the position of its last event or, if it returned no events, of the last
// event in the stream. Errors are those of Decide, unchanged, and those of the log.
//
// The event ids derive from the metadata's command id, so that repeating the same append has no effect.
func Execute[S, E any](
	ctx context.Context, j *Journal, s Stream[S, E], command Decider[S, E], meta Metadata,
) (S, eventlog.Position, error) {
	return NewCached(j, s).Execute(ctx, command, meta)
}

// Cached keeps the state of a stream between commands, so that a command usually costs one append and no read. The
// state may be stale, because other instances append, too: the append then conflicts, and the newer events are read. A
// command that appends nothing is decided on a state that was just read. Cached is not safe for concurrent use.
type Cached[S, E any] struct {
	journal *Journal
	stream  Stream[S, E]
	state   S
	version Version
	known   bool // the stream was read
	skips   int  // version of the set of skipped events for which the state was folded
}

// NewCached returns the cache of a stream. It does not read the stream yet.
func NewCached[S, E any](j *Journal, s Stream[S, E]) *Cached[S, E] {
	c := &Cached[S, E]{journal: j, stream: s}
	c.forget()
	c.known = s.New
	return c
}

// Copy returns a copy, which is independent of c.
func (c *Cached[S, E]) Copy() *Cached[S, E] {
	independent := *c
	return &independent
}

// Current reports whether the state is known, and folded with the current set of skipped events.
func (c *Cached[S, E]) Current() bool {
	return c.known && c.skips == c.journal.Registry.SkipsVersion()
}

// State returns the state that was last read or written.
func (c *Cached[S, E]) State() S { return c.state }

// Version returns the version of State.
func (c *Cached[S, E]) Version() Version { return c.version }

// Execute executes a command like the function Execute, on the cached state.
func (c *Cached[S, E]) Execute(
	ctx context.Context, command Decider[S, E], meta Metadata,
) (S, eventlog.Position, error) {
	ctx, running := c.journal.Begin(ctx)
	var refusal error
	conflicts, err := c.Batch(ctx, func(batch *Batch[S, E]) { refusal = batch.Add(command, meta) })
	if err == nil {
		err = refusal
	}
	running.End(NameOf(command), conflicts, err)
	return c.state, c.version.Position, err
}

// Batch appends the events that decide adds to a batch, in one append. decide is called again, on a freshly read state,
// after a conflict and if its batch is valid only on such a state. Batch returns the number of conflicts.
func (c *Cached[S, E]) Batch(ctx context.Context, decide func(*Batch[S, E])) (conflicts int, err error) {
	for read := !c.Current(); ; read = true {
		if read {
			if err := c.Refresh(ctx); err != nil {
				return conflicts, err
			}
		}
		batch := &Batch[S, E]{evolve: c.stream.Evolve, state: c.state}
		decide(batch)
		if batch.needsFresh && !read {
			continue
		}
		err := c.append(ctx, batch)
		var conflict *eventlog.ConflictError
		if !errors.As(err, &conflict) {
			return conflicts, err
		}
		conflicts++
		if conflict.Actual < c.version.Revision { // the log was restored to an earlier state: there are no newer events
			c.forget()
		}
	}
}

// Refresh reads newer events, or all of them after operators have changed the skipped events.
func (c *Cached[S, E]) Refresh(ctx context.Context) (err error) {
	if skips := c.journal.Registry.SkipsVersion(); c.skips != skips {
		c.forget()
		c.skips = skips
	}
	c.state, c.version, err = c.stream.load(ctx, c.journal, c.state, c.version)
	c.known = c.known || err == nil
	return err
}

// forget makes the next read start from the beginning.
func (c *Cached[S, E]) forget() {
	var unwritten S
	c.state, c.version, c.known = unwritten, Version{Revision: eventlog.NoStream}, false
}

// append writes a batch, followed by a snapshot if one is due, and advances to the state after it.
func (c *Cached[S, E]) append(ctx context.Context, batch *Batch[S, E]) error {
	if len(batch.writes) == 0 {
		return nil
	}
	c.addSnapshot(batch)
	var proposed []eventlog.Proposed
	for _, w := range batch.writes {
		meta := c.journal.sealed(ctx, w.meta)
		encoded, err := c.journal.Registry.Encode(meta.CommandID, 0, meta, w.events...)
		if err != nil {
			return fmt.Errorf("encoding events: %w", err)
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

// addSnapshot adds the snapshot that the batch makes due, if any. No snapshot is taken while an event of the stream is
// skipped, because it would lack the event after an unskip. The snapshot's id derives from the version that the batch
// was decided on, so that a repeated append is identical.
func (c *Cached[S, E]) addSnapshot(batch *Batch[S, E]) {
	if c.stream.Snapshot == nil || c.journal.Registry.SkipsIn(c.stream.Name) {
		return
	}
	at := batch.writes[len(batch.writes)-1].meta.Time
	if events := c.stream.Snapshot(batch.state, at); len(events) > 0 {
		id := DeriveID(c.stream.Name+" after "+strconv.FormatInt(int64(c.version.Revision), 10), "snapshot")
		batch.Append(System().Metadata(id, at), events...)
	}
}

// Batch collects the events of several commands on one stream for one append. Each command is decided on the state
// after its predecessors.
type Batch[S, E any] struct {
	evolve     func(S, E) S
	state      S
	writes     []write
	needsFresh bool
}

// write is the decision of one command.
type write struct {
	meta   Metadata
	events []any
}

// State returns the state after the added events.
func (b *Batch[S, E]) State() S { return b.state }

// Add adds the events that a command decides on State. It returns the command's refusal. A refusal, and a decision
// without events, are valid only on a freshly read state: otherwise Cached.Batch reads the state and decides again.
func (b *Batch[S, E]) Add(command Decider[S, E], meta Metadata) error {
	events, err := command.Decide(b.state)
	if err != nil || len(events) == 0 {
		b.needsFresh = true
		return err
	}
	b.Append(meta, events...)
	return nil
}

// Append adds events that were decided on State.
func (b *Batch[S, E]) Append(meta Metadata, events ...E) {
	added := write{meta: meta}
	for _, event := range events {
		b.state = b.evolve(b.state, event)
		added.events = append(added.events, event)
	}
	b.writes = append(b.writes, added)
}

// Sequence is several commands as one: it appends the events of all of them, or none if one of them is refused. In
// metrics it has the name of the last one.
type Sequence[S, E any] struct {
	Evolve   func(S, E) S
	Commands []Decider[S, E]
}

// Decide implements Decider.
func (s Sequence[S, E]) Decide(state S) ([]E, error) {
	var events []E
	for _, command := range s.Commands {
		decided, err := command.Decide(state)
		if err != nil {
			return nil, err
		}
		for _, event := range decided {
			state = s.Evolve(state, event)
		}
		events = append(events, decided...)
	}
	return events, nil
}

func (s Sequence[S, E]) name() string { return NameOf(s.Commands[len(s.Commands)-1]) }

// Prepare returns a command that contains data read elsewhere, such as at a provider. prepare is called with the state
// that was read from the stream, reads the command's data, and returns the command. After a conflict the stream is read
// and prepare is called again: the data is never older than the revision at which the events are appended. Errors of
// prepare are returned unchanged.
//
// It is for Execute with a random command id: each call results in other events, so that with a derived id the log
// would take newer data for a repetition.
func Prepare[S, E any](prepare func(state S) (Decider[S, E], error)) Decider[S, E] {
	return &prepared[S, E]{prepare: prepare}
}

type prepared[S, E any] struct {
	prepare func(state S) (Decider[S, E], error)
	command Decider[S, E] // nil before the first call
}

// Decide implements Decider.
func (p *prepared[S, E]) Decide(state S) ([]E, error) {
	command, err := p.prepare(state)
	if err != nil {
		return nil, err
	}
	p.command = command
	return command.Decide(state)
}

func (p *prepared[S, E]) name() string {
	if p.command == nil {
		return ""
	}
	return NameOf(p.command)
}

// NameOf returns the name of a command in metrics: the name of its type.
func NameOf[S, E any](command Decider[S, E]) string {
	if named, ok := command.(interface{ name() string }); ok {
		return named.name()
	}
	return fmt.Sprintf("%T", command)
}
