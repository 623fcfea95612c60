package feed

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/recital-tts/recital/internal/eventlog"
)

// member is a projection in this instance: the generation that it feeds and how far that has come.
type member struct {
	projection Projection
	generation int
	writers    []*writer
	position   eventlog.Position // committed; it changes under the turn of the member's group
	progress   *progress
}

// turnedInto is what the events become: the rows to write.
func (m *member) turnedInto(events []eventlog.Decoded) (*Rows, error) {
	rows := newRows(m.projection.Tables)
	for _, event := range events {
		err := m.handle(event, rows)
		if err == nil {
			err = rows.err
		}
		if err != nil {
			return nil, &permanentError{err}
		}
	}
	return rows, nil
}

// handle gives the projection one event. A panic is an error of the event.
func (m *member) handle(event eventlog.Decoded, rows *Rows) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = panicked(cause)
		}
	}()
	return m.projection.Handle(event, rows)
}

// panicked keeps the text of the runtime's own panics; what others panic with may quote the event.
func panicked(cause any) error {
	if err, ok := cause.(runtime.Error); ok {
		return fmt.Errorf("the handler panicked: %w", err)
	}
	return errors.New("the handler panicked")
}
