package logcopy

import (
	"context"
	"fmt"
	"iter"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Compare checks that a log holds exactly the events, in their order; whatever a copy keeps is
// compared. progress is that of Append. Errors: a ForeignError, and those of events and of the log.
func Compare(ctx context.Context, log eventlog.Log, events iter.Seq2[eventlog.Recorded, error],
	progress func(same uint64, last eventlog.Position)) error {
	present, stop := iter.Pull2(Read(ctx, log, eventlog.Start(), eventlog.Start()))
	defer stop()
	c := copying{ctx: ctx, log: log, progress: progress}
	for event, err := range events {
		if err != nil {
			return err
		}
		there, err := c.compare(present, event)
		if err != nil {
			return err
		}
		if !there {
			return fmt.Errorf("the copy lacks %s", name(event))
		}
	}
	if found, err, more := present(); more {
		if err != nil {
			return err
		}
		return &ForeignError{Found: found}
	}
	return nil
}
