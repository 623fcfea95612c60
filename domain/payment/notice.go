package payment

import (
	"time"

	"github.com/recital-tts/recital/domain"
)

// State is the state of a notice. The zero State is a notice that was never received.
type State struct {
	Notice  Received
	Handled bool
}

// Exists reports whether the notice was received.
func (s State) Exists() bool { return s.Notice.ID != "" }

// Evolve folds an event into the state.
func Evolve(s State, event Event) State {
	switch e := event.(type) {
	case Received:
		s.Notice = e
	case Handled:
		s.Handled = true
	}
	return s
}

// maxID is the maximum length of the id of a provider's event, in bytes.
const maxID = 200

// Receive records a notice. It has no effect on a notice that is already recorded.
type Receive Received

// Decide refuses a notice with an id that cannot be part of a stream's name.
func (c Receive) Decide(s State) ([]Event, error) {
	if !validID(c.ID) {
		return nil, domain.Refuse(domain.Invalid, "The notice has no valid id")
	}
	if s.Exists() {
		return nil, nil
	}
	return []Event{Received(c)}, nil
}

func validID(id string) bool {
	for _, r := range id {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_') {
			return false
		}
	}
	return id != "" && len(id) <= maxID
}

// Handle ends a notice. Ending it again has no effect.
type Handle struct {
	Account string // "" if the notice concerns no account
	At      time.Time
}

// Decide refuses a notice that was never received.
func (c Handle) Decide(s State) ([]Event, error) {
	switch {
	case !s.Exists():
		return nil, domain.Refuse(domain.NotFound, "There is no such notice")
	case s.Handled:
		return nil, nil
	}
	return []Event{Handled{ID: s.Notice.ID, Account: c.Account, At: c.At}}, nil
}
