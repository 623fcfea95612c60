// Package logcopy has events of the log outside of the event store: as a stream of records, and copied into another
// log. Ids, order, revisions, types, data and metadata stay as they are, byte for byte; positions are those of the log
// that the events were read from.
package logcopy

import (
	"errors"
	"fmt"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// ContentType is the content type of a stream of records.
const ContentType = "application/vnd.recital.log"

// Header is what a stream of records says before its first event.
type Header struct {
	Identity eventlog.Identity // of the log
	After    eventlog.Position // the events are those after this position
	Until    eventlog.Position // up to this one; a stream that follows the log goes on after it
}

// Errors of a Reader, wrapped.
var (
	// ErrCut means that the stream ended before its end record.
	ErrCut = errors.New("the copy of the log is cut off")
	// ErrDamaged means that the stream holds what no Writer writes.
	ErrDamaged = errors.New("the copy of the log is damaged")
	// ErrFormat means that a later release wrote the stream.
	ErrFormat = errors.New("the copy of the log is of a format that this release does not know")
)

// ForeignError means that a log holds another event than the one that is to be copied to its place.
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
