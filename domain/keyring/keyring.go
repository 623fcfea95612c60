// Package keyring is the aggregate of the stream keyring: which keyring belongs to the log. The keys themselves are
// never in the log, so data that they sealed is lost with them. An empty or another keyring must not silently take
// their place.
package keyring

import (
	"time"

	"github.com/recital-tts/recital/domain"
)

// Stream is the only stream of its kind.
const Stream = "keyring"

// Event is one of the events below.
type Event interface{ keyringEvent() }

// Adopted records the log's first keyring.
type Adopted struct {
	Keyring string    `json:"keyring"` // id
	At      time.Time `json:"at"`
}

// Abandoned records that a keyring was given up, with all data that it sealed. The metadata names the operator.
type Abandoned struct {
	Keyring   string    `json:"keyring"`   // id
	Successor string    `json:"successor"` // id of the keyring from then on
	At        time.Time `json:"at"`
}

func (Adopted) keyringEvent()   {}
func (Abandoned) keyringEvent() {}

// State is the state of the stream.
type State struct {
	Keyring   string // id of the log's keyring, "" before the first
	Abandoned string // id of the one before it, "" if there was none
}

// Evolve folds an event into the state.
func Evolve(s State, event Event) State {
	switch e := event.(type) {
	case Adopted:
		s.Keyring = e.Keyring
	case Abandoned:
		s.Keyring, s.Abandoned = e.Successor, e.Keyring
	}
	return s
}

// Adopt records the log's first keyring. Adopting it again has no effect.
type Adopt Adopted

// Decide refuses a keyring other than the log's.
func (c Adopt) Decide(s State) ([]Event, error) {
	switch s.Keyring {
	case "":
		return []Event{Adopted(c)}, nil
	case c.Keyring:
		return nil, nil
	}
	return nil, domain.Refuse(domain.Rejected, "The log has another keyring")
}

// Abandon replaces the log's keyring with another one. Repeating it has no effect.
type Abandon Abandoned

// Decide refuses to give up a keyring that is not the log's, or one that still exists.
func (c Abandon) Decide(s State) ([]Event, error) {
	switch {
	case c.Successor == s.Keyring && c.Keyring == s.Abandoned:
		return nil, nil
	case c.Keyring != s.Keyring:
		return nil, domain.Refuse(domain.Rejected, "The log has another keyring")
	case c.Keyring == c.Successor:
		return nil, domain.Refuse(domain.Rejected, "This keyring is in Postgres, and nothing is to be abandoned")
	}
	return []Event{Abandoned(c)}, nil
}
