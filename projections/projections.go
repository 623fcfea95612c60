// Package projections holds the shared code of its subpackages. Each of them turns the events of a slice into the rows
// of its read models, which package readmodel declares.
package projections

import (
	"time"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

// ToDo returns an item of a to-do list that an event causes.
func ToDo(event eventlog.Decoded, item string, due time.Time) readmodel.ToDoRow {
	return readmodel.ToDoRow{Item: item, Stream: event.Stream, Due: due, Cause: event.ID.String()}
}

// OrNull returns nil for the zero value, and other values unchanged.
func OrNull[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}
