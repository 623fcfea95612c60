// Package skip is the aggregate of the events that operators have skipped because they cannot be handled. They are all
// in one stream, which is read before anything else of the log is decoded.
package skip

import (
	"maps"
	"strings"
	"time"

	"github.com/recital-tts/recital/domain"
)

// Max is the maximum number of skipped events. If more have to be skipped, the fault is in the release rather than in
// the events.
const Max = 1000

// Event is one of the events below.
type Event interface{ skipEvent() }

// EventSkipped records that an event is excluded from every state and read model.
type EventSkipped struct {
	Event    string    `json:"event"` // id
	Stream   string    `json:"stream"`
	Revision uint64    `json:"revision"`
	Type     string    `json:"type"`
	By       string    `json:"by"` // the name of the operator's token
	Role     string    `json:"role"`
	Why      string    `json:"why"`
	At       time.Time `json:"at"`
}

// EventUnskipped records that a skipped event counts again.
type EventUnskipped struct {
	Event string    `json:"event"`
	By    string    `json:"by"`
	Role  string    `json:"role"`
	Why   string    `json:"why"`
	At    time.Time `json:"at"`
}

// SkipConfirmed records an operator's confirmation that a skipped event revokes no credential.
type SkipConfirmed struct {
	Event string    `json:"event"`
	By    string    `json:"by"`
	Role  string    `json:"role"`
	Why   string    `json:"why"`
	At    time.Time `json:"at"`
}

func (EventSkipped) skipEvent()   {}
func (EventUnskipped) skipEvent() {}
func (SkipConfirmed) skipEvent()  {}

// State holds the skipped events by id.
type State struct{ Skipped map[string]Skip }

// Skip is a skipped event.
type Skip struct {
	EventSkipped
	Confirmed bool // an operator has confirmed that it revokes no credential
}

// Unconfirmed reports whether the event may have revoked a credential: it is in the stream of an account or of a
// session, and no operator has confirmed that it did not.
func (s Skip) Unconfirmed() bool { return !s.Confirmed && MayRevoke(s.Stream) }

// MayRevoke reports whether events of a stream may revoke credentials.
func MayRevoke(stream string) bool {
	return strings.HasPrefix(stream, "account-") || strings.HasPrefix(stream, "session-")
}

// Evolve returns the state after an event.
func Evolve(s State, event Event) State {
	switch e := event.(type) {
	case EventSkipped:
		s.Skipped = domain.With(s.Skipped, e.Event, Skip{EventSkipped: e})
	case EventUnskipped:
		s.Skipped = maps.Clone(s.Skipped)
		delete(s.Skipped, e.Event)
	case SkipConfirmed:
		if known, ok := s.Skipped[e.Event]; ok {
			known.Confirmed = true
			s.Skipped = domain.With(s.Skipped, e.Event, known)
		}
	}
	return s
}

// ErrNotSkipped refuses an event that is not skipped.
var ErrNotSkipped = domain.Refuse(domain.NotFound, "This event is not skipped")

// SkipEvent skips an event. Skipping it again has no effect.
type SkipEvent EventSkipped

// Decide refuses a skip without a reason, and more than Max skipped events.
func (c SkipEvent) Decide(s State) ([]Event, error) {
	if _, is := s.Skipped[c.Event]; is {
		return nil, nil
	}
	if len(s.Skipped) >= Max {
		return nil, domain.Refuse(domain.Rejected, "Too many events are skipped; see what is wrong with this release")
	}
	return decided(c.Why, EventSkipped(c))
}

// UnskipEvent makes a skipped event count again.
type UnskipEvent EventUnskipped

// Decide refuses an event that is not skipped.
func (c UnskipEvent) Decide(s State) ([]Event, error) {
	if _, is := s.Skipped[c.Event]; !is {
		return nil, ErrNotSkipped
	}
	return decided(c.Why, EventUnskipped(c))
}

// Confirm confirms that a skipped event revokes no credential. Confirming it again has no effect.
type Confirm SkipConfirmed

// Decide refuses an event that is not skipped.
func (c Confirm) Decide(s State) ([]Event, error) {
	known, is := s.Skipped[c.Event]
	switch {
	case !is:
		return nil, ErrNotSkipped
	case !known.Unconfirmed():
		return nil, nil
	}
	return decided(c.Why, SkipConfirmed(c))
}

// decided returns the event if its reason is valid. The reason stays in the log permanently.
func decided(why string, event Event) ([]Event, error) {
	if strings.TrimSpace(why) == "" || strings.Contains(why, "@") {
		return nil, domain.Refuse(domain.Invalid, "Give a reason (header x-recital-reason), without an e-mail address")
	}
	return []Event{event}, nil
}
