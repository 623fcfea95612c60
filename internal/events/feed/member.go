package feed

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/table"
)

// member is a generation of a read model in this instance.
type member struct {
	projection Projection
	number     int  // of the generation
	live       bool // the views show it
	promote    bool // is to become live as soon as it has caught up
	replaced   bool // it is not of this log, and another generation is to take its place
	writers    []*table.Writer
	position   eventlog.Position // committed; it changes under the lock of the member's group
	parking    *parking          // changes like position
	parkings   int64             // the checkpoint's counter of operations on parked events
	progress   *progress
}

func newMember(p Projection, g generation, parking *parking, progress *progress) *member {
	m := &member{projection: p, number: g.number, live: g.live, promote: g.promote, parking: parking, progress: progress}
	for _, t := range p.Tables {
		m.writers = append(m.writers, table.NewWriter(t, tableSchema(p.Name, p.Version, g.number)))
	}
	return m
}

func (m *member) id() GenerationID {
	return GenerationID{Name: m.projection.Name, Version: m.projection.Version, Number: m.number}
}

// pageRows is what a page becomes for one member: the rows to write, and the events that are left out.
type pageRows struct {
	*table.Rows
	parked []parkedEvent
}

// turnedInto returns the rows that the events become.
func (m *member) turnedInto(events []eventlog.Decoded) (pageRows, error) {
	page := pageRows{Rows: table.NewRows(m.projection.Tables)}
	for _, event := range events {
		_, skipped := event.Event.(eventlog.Skipped)
		switch {
		case skipped, !m.projection.Streams.Include(event.Stream):
			continue
		case m.parking.streams[event.Stream]:
			page.parked = append(page.parked, parkedEvent{event.Recorded, behind(event.Stream)})
			continue
		}
		err := m.handle(event, page.Rows)
		if err == nil {
			err = page.Err()
		}
		if err != nil {
			return pageRows{}, &permanentError{err}
		}
	}
	return page, nil
}

// handle calls the projection's handler with one event. A panic is an error of the event.
func (m *member) handle(event eventlog.Decoded, rows *table.Rows) (err error) {
	if event, ok := event.Event.(unreadable); ok {
		return event.err
	}
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

// unreadable stands for the value of an event that stops whichever generation does not leave it out.
type unreadable struct{ err error }
