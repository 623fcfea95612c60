// Package logcopy copies events out of the event store: as a stream of records, and into another log. Ids, order,
// revisions, types, data and metadata are copied byte for byte; positions are the source log's.
package logcopy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// ContentType is the content type of a stream of records.
const ContentType = "application/vnd.recital.log"

// Header precedes the events in a stream of records.
type Header struct {
	Identity eventlog.Identity // of the log
	After    eventlog.Position // the events begin after this position
	Until    eventlog.Position // up to this one; a stream that follows the log continues after it
}

// Errors of a Reader, wrapped.
var (
	// ErrCut means that the stream ended before its end record.
	ErrCut = errors.New("the copy of the log is cut off")
	// ErrDamaged means that the stream has invalid content.
	ErrDamaged = errors.New("the copy of the log is damaged")
	// ErrFormat means that a later release has written the stream.
	ErrFormat = errors.New("the copy of the log is of a format that this release does not know")
)

// ForeignError means that a log has a different event in the place of a copied one.
type ForeignError struct {
	Found  eventlog.Recorded
	Wanted *eventlog.Recorded // nil if the log holds more events than are copied
}

// Error names both events.
func (e *ForeignError) Error() string {
	if e.Wanted == nil {
		return fmt.Sprintf("the log holds %s, which is not among the events to copy", name(e.Found))
	}
	return fmt.Sprintf("the log holds %s in the place of %s", name(e.Found), name(*e.Wanted))
}

func name(event eventlog.Recorded) string {
	return fmt.Sprintf("event %d of stream %q (%s, position %s)", event.Revision, event.Stream, event.ID, event.Position)
}

// Read yields the events of the log after a position, up to and including until, or up to the log's current head if
// until is the start or past the head. System events are omitted. A non-nil error is the last element. Read waits for a
// log that is away, and keeps a bounded number of events.
func Read(ctx context.Context, log eventlog.Log, after, until eventlog.Position) iter.Seq2[eventlog.Recorded, error] {
	return func(yield func(eventlog.Recorded, error) bool) {
		head, err := log.Head(ctx)
		if err != nil {
			yield(eventlog.Recorded{}, err)
			return
		}
		if until == eventlog.Start() || until.Compare(head) > 0 {
			until = head
		}
		if after.Compare(until) >= 0 {
			return
		}
		for event, err := range Follow(ctx, log, after) {
			if err == nil && event.Position.Compare(until) > 0 {
				return
			}
			if !yield(event, err) || err != nil || event.Position == until {
				return
			}
		}
	}
}

// Follow yields the events of the log after a position, including later ones, until ctx ends or the log refuses.
func Follow(ctx context.Context, log eventlog.Log, after eventlog.Position) iter.Seq2[eventlog.Recorded, error] {
	return func(yield func(eventlog.Recorded, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		subscription := log.Subscribe(ctx, after)
		for delivery := range subscription.Deliveries() {
			if delivery.Kind == eventlog.KindEvent && !yield(delivery.Event, nil) {
				return
			}
		}
		yield(eventlog.Recorded{}, fmt.Errorf("reading the log: %w", subscription.Err()))
	}
}

// Compare checks that a log has exactly the events, in their order, by all that a copy keeps. progress is as for
// Append. Errors: a ForeignError, and errors of events and of the log.
func Compare(ctx context.Context, log eventlog.Log, events iter.Seq2[eventlog.Recorded, error],
	progress func(same uint64, last eventlog.Position)) error {
	c := copying{ctx: ctx, log: log, progress: progress}
	return c.run(events, func(missing eventlog.Recorded) error {
		return fmt.Errorf("the copy lacks %s", name(missing))
	})
}

// The limits of a batch, which is one append. They are well below any event store's.
const (
	batchEvents = 512
	batchBytes  = 256 << 10
)

// Append copies all events of a log, in order, into one that is empty or already has the first of them, so that
// repeating an interrupted copy resumes it. Existing events are compared with the copied ones. progress, if not nil, is
// called with the number of events that are known to be in the log, and the source position of the last one.
//
// Errors: a ForeignError if the log has other events; an eventlog.ConflictError if other events are appended meanwhile;
// errors of events and of the log.
func Append(ctx context.Context, log eventlog.Log, events iter.Seq2[eventlog.Recorded, error],
	progress func(copied uint64, last eventlog.Position)) error {
	c := copying{ctx: ctx, log: log, progress: progress}
	return c.run(events, c.add)
}

// copying is a copy in progress.
type copying struct {
	ctx      context.Context
	log      eventlog.Log
	progress func(uint64, eventlog.Position)
	copied   uint64
	batch    []eventlog.Proposed
	size     int
	last     eventlog.Recorded // of the batch
}

// run compares the events with those of the log, and passes the ones after its end to missing.
func (c *copying) run(events iter.Seq2[eventlog.Recorded, error], missing func(eventlog.Recorded) error) error {
	present, stop := iter.Pull2(Read(c.ctx, c.log, eventlog.Start(), eventlog.Start()))
	defer stop()
	comparing := true
	for event, err := range events {
		if err == nil && comparing {
			comparing, err = c.compare(present, event)
		}
		if err == nil && !comparing {
			err = missing(event)
		}
		if err != nil {
			return err
		}
	}
	if err := c.flush(); err != nil {
		return err
	}
	if found, err, more := present(); comparing && more {
		if err != nil {
			return err
		}
		return &ForeignError{Found: found}
	}
	return nil
}

// compare compares the log's next event with the wanted one. It returns false if the log has no more events.
func (c *copying) compare(present func() (eventlog.Recorded, error, bool), wanted eventlog.Recorded) (bool, error) {
	found, err, more := present()
	if err != nil || !more {
		return false, err
	}
	if !Same(found, wanted) {
		return false, &ForeignError{Found: found, Wanted: &wanted}
	}
	c.known(1, wanted.Position)
	return true, nil
}

// add collects runs of events of one stream.
func (c *copying) add(event eventlog.Recorded) error {
	size := len(event.Data) + len(event.Metadata) + 2*len(event.Type)
	follows := event.Stream == c.last.Stream && event.Revision == c.last.Revision+1
	if !follows || len(c.batch) == batchEvents || c.size+size > batchBytes {
		if err := c.flush(); err != nil {
			return err
		}
	}
	c.batch = append(c.batch, eventlog.Proposed{
		ID: event.ID, Type: event.Type, Data: event.Data, Metadata: event.Metadata, Binary: event.Binary,
	})
	c.size, c.last = c.size+size, event
	return nil
}

func (c *copying) flush() error {
	if len(c.batch) == 0 {
		return nil
	}
	count := len(c.batch)
	before := eventlog.Revision(c.last.Revision) - eventlog.Revision(count)
	if _, err := c.log.Append(c.ctx, c.last.Stream, before, c.batch); err != nil {
		return fmt.Errorf("copying %s: %w", name(c.last), err)
	}
	c.batch, c.size = c.batch[:0], 0
	c.known(uint64(count), c.last.Position)
	return nil
}

// known counts events that are known to be in the log.
func (c *copying) known(count uint64, last eventlog.Position) {
	c.copied += count
	if c.progress != nil {
		c.progress(c.copied, last)
	}
}

// Same reports whether two events are equal in all that a copy keeps.
func Same(a, b eventlog.Recorded) bool {
	return a.ID == b.ID && a.Stream == b.Stream && a.Revision == b.Revision && a.Type == b.Type && a.Binary == b.Binary &&
		bytes.Equal(a.Data, b.Data) && bytes.Equal(a.Metadata, b.Metadata)
}
