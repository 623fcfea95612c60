package logdiff

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/internal/events/chain"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Report is the result of a comparison.
type Report struct {
	Compared    uint64       `json:"compared"` // events of the copy
	Later       uint64       `json:"later"`    // events of the log after the copy
	Differences []Difference `json:"differences"`
	More        uint64       `json:"more,omitempty"` // differences that are not listed
}

func (r Report) clone() Report {
	r.Differences = slices.Clone(r.Differences)
	return r
}

// Same reports whether the log begins with exactly the events of the copy, in the same order.
func (r Report) Same() bool { return len(r.Differences) == 0 }

// Kind is the kind of a difference.
type Kind string

// The kinds of differences.
const (
	Changed Kind = "changed" // or replaced by one with another id
	Removed Kind = "removed"
	Added   Kind = "added" // before the end of the copy
	Moved   Kind = "moved"
)

// Difference is an event that differs between the copy and the log.
type Difference struct {
	Kind   Kind     `json:"kind"`
	Fields []string `json:"fields,omitempty"` // changed fields, also of a moved event
	Copy   *Event   `json:"copy,omitempty"`   // in the copy; nil if it was added
	Log    *Event   `json:"log,omitempty"`    // in the log; nil if it was removed
}

// event returns the event of the copy, or else of the log.
func (d Difference) event() Event {
	if d.Copy != nil {
		return *d.Copy
	}
	return *d.Log
}

// move combines the removal and the addition of an event into one difference.
func (d *Difference) move(other Difference) {
	if d.Copy == nil {
		d.Copy = other.Copy
	} else {
		d.Log = other.Log
	}
	d.Kind, d.Fields = Moved, changes(*d.Copy, *d.Log)
}

// String returns the difference as a sentence without a full stop.
func (d Difference) String() string {
	switch d.Kind {
	case Removed:
		return fmt.Sprintf("%s was removed; the copy has it at position %s", d.Copy, d.Copy.Position)
	case Added:
		return fmt.Sprintf("%s was added, at position %s of the log", d.Log, d.Log.Position)
	}
	text := fmt.Sprintf("%s was %s: position %s of the copy, %s of the log", d.Copy, d.Kind, d.Copy.Position,
		d.Log.Position)
	if len(d.Fields) > 0 {
		text += "; another " + strings.Join(d.Fields, ", another ")
	}
	if d.Copy.ID != d.Log.ID {
		text += " (it is " + d.Log.ID.String() + " now)"
	}
	return text
}

// Event is an event without its content.
type Event struct {
	Position eventlog.Position `json:"position"`
	ID       uuid.UUID         `json:"id"`
	Stream   string            `json:"stream"`
	Revision uint64            `json:"revision"`
	Type     string            `json:"type"`
	Binary   bool              `json:"binary,omitempty"` // not declared as JSON
	Data     chain.Hash        `json:"data_sha256"`
	Metadata chain.Hash        `json:"metadata_sha256"`
}

func eventOf(e eventlog.Recorded) Event {
	return Event{
		Position: e.Position, ID: e.ID, Stream: e.Stream, Revision: e.Revision, Type: e.Type, Binary: e.Binary,
		Data: sha256.Sum256(e.Data), Metadata: sha256.Sum256(e.Metadata),
	}
}

// String identifies the event.
func (e Event) String() string {
	return fmt.Sprintf("Event %s (revision %d of %s, type %s)", e.ID, e.Revision, e.Stream, e.Type)
}

// changes returns the names of the fields in which two events differ. Their positions are not fields.
func changes(a, b Event) (fields []string) {
	for _, field := range []struct {
		name  string
		other bool
	}{
		{"id", a.ID != b.ID}, {"stream", a.Stream != b.Stream}, {"revision", a.Revision != b.Revision},
		{"type", a.Type != b.Type},
		{"content type", a.Binary != b.Binary}, {"data", a.Data != b.Data}, {"metadata", a.Metadata != b.Metadata},
	} {
		if field.other {
			fields = append(fields, field.name)
		}
	}
	return fields
}
