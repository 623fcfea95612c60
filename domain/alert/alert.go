// Package alert is the aggregate of stream alerts: what a person should look at. An alert is raised once, however often
// its source notices; what became of it shows where it came from.
package alert

import (
	"maps"
	"time"
)

// Event is one of the events below.
type Event interface{ alertEvent() }

// Reason is why an alert was raised.
type Reason string

// GaveUp says that something failed too often to be tried on as before.
const GaveUp Reason = "gave_up"

// Raised asks for a person's attention.
type Raised struct {
	Alert   string    `json:"alert"`   // the same for the same occasion
	Source  string    `json:"source"`  // the part that noticed: todo/<process>
	Subject string    `json:"subject"` // id of what it is about, never personal data
	Reason  Reason    `json:"reason"`
	At      time.Time `json:"at"`
}

func (Raised) alertEvent() {}

// State holds the alerts that were raised, by id.
type State map[string]bool

// Evolve folds an event into the state.
func Evolve(s State, event Event) State {
	if raised, ok := event.(Raised); ok {
		s = maps.Clone(s)
		if s == nil {
			s = State{}
		}
		s[raised.Alert] = true
	}
	return s
}
