// Package alert is the aggregate of the stream alerts: what a person should look at. An alert is raised once, however often
// its source notices it; its source shows whether it still holds.
package alert

import (
	"maps"
	"time"
)

// Stream is where all alerts are kept.
const Stream = "alerts"

// Event is one of the events below.
type Event interface{ alertEvent() }

// Reason is why an alert was raised.
type Reason string

// The reasons.
const (
	GaveUp    Reason = "gave_up"    // an item of a to-do list failed too often to be tried as before
	Stopped   Reason = "stopped"    // a projection stands before an event that it cannot handle
	Parked    Reason = "parked"     // a projection goes on without an event that it cannot handle
	Outdated  Reason = "outdated"   // a projection stands before an event that a newer release wrote
	TakenOver Reason = "taken_over" // another instance moved the checkpoint of a projection that this one was feeding
	NotFed    Reason = "not_fed"    // a generation of a projection has other tables than the release
	NoAppends Reason = "no_appends" // the log took no events for a while
	Unpaid    Reason = "unpaid"     // a subscription was not paid until the end of its grace
)

// Raised is an alert.
type Raised struct {
	Alert   string    `json:"alert"`   // the same for the same occasion
	Source  string    `json:"source"`  // part that noticed it: todo/<process>, projection/<name>
	Subject string    `json:"subject"` // id of what it is about, never personal data
	Reason  Reason    `json:"reason"`
	At      time.Time `json:"at"`
}

func (Raised) alertEvent() {}

// State holds the alerts that were raised, by id.
type State map[string]bool

// Evolve returns the state after an event.
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
