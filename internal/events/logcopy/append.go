package logcopy

import (
	"bytes"
	"context"
	"fmt"
	"iter"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// A batch is one append, well below what any event store takes.
const (
	batchEvents = 512
	batchBytes  = 256 << 10
)

// Append copies all events of a log, in order, into one that is empty or has the first of them already, so that a copy
// that was interrupted is resumed by repeating it. What is there is compared with what is copied. progress, if not nil,
// is called with the number of events that are known to be in the log, and the position of the last one in the log that
// they come from.
//
// Errors: a ForeignError if the log holds something else; an eventlog.ConflictError if something else is appended
// meanwhile; those of events and of the log.
func Append(ctx context.Context, log eventlog.Log, events iter.Seq2[eventlog.Recorded, error],
	progress func(copied uint64, last eventlog.Position)) error {
	present, stop := iter.Pull2(Read(ctx, log, eventlog.Start(), eventlog.Start()))
	defer stop()
	c := copying{ctx: ctx, log: log, progress: progress}
	comparing := true
	for event, err := range events {
		if err != nil {
			return err
		}
		if comparing {
			if comparing, err = c.compare(present, event); err != nil {
				return err
			}
		}
		if !comparing {
			if err := c.add(event); err != nil {
				return err
			}
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

// compare returns false if the log has no more events.
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

// known counts events that are in the log.
func (c *copying) known(count uint64, last eventlog.Position) {
	c.copied += count
	if c.progress != nil {
		c.progress(c.copied, last)
	}
}

// Same compares all that a copy keeps.
func Same(a, b eventlog.Recorded) bool {
	return a.ID == b.ID && a.Stream == b.Stream && a.Revision == b.Revision && a.Type == b.Type && a.Binary == b.Binary &&
		bytes.Equal(a.Data, b.Data) && bytes.Equal(a.Metadata, b.Metadata)
}
