package alert

import (
	"time"

	"github.com/recital-tts/recital/domain"
)

// ConditionPrefix precedes the id of a condition in the name of its stream.
const ConditionPrefix = "condition-"

// Condition is what lasts for a while, and may come again. The same source, subject and reason are the same condition
// on every instance.
type Condition struct {
	Source  string // part that it is about: log, postgres, projection/<name>
	Subject string // what exactly, never personal data; the instance where it is not the same on all of them
	Reason  Reason
}

// Is reports whether another condition is the same.
func (c Condition) Is(other Condition) bool { return c == other }

// ConditionEvent is one of the events below.
type ConditionEvent interface{ conditionEvent() }

// ConditionRaised says that a condition has begun to hold.
type ConditionRaised struct {
	Alert   string    `json:"alert"` // a new one each time
	Source  string    `json:"source"`
	Subject string    `json:"subject"`
	Reason  Reason    `json:"reason"`
	At      time.Time `json:"at"` // since when it holds; the log may have taken the event later
}

// ConditionCleared says that it does not hold any more, or that an operator has seen to it. The metadata says who.
type ConditionCleared struct {
	Alert string    `json:"alert"`
	At    time.Time `json:"at"`
}

func (ConditionRaised) conditionEvent()  {}
func (ConditionCleared) conditionEvent() {}

// ReplacesState implements domain.Snapshot.
func (ConditionRaised) ReplacesState() {}

// ReplacesState implements domain.Snapshot.
func (ConditionCleared) ReplacesState() {}

// ConditionState is the alert of a condition that holds; the zero value is one that does not. Each event says all of
// it.
type ConditionState struct {
	Alert string
	Since time.Time
}

// EvolveCondition returns the state after an event.
func EvolveCondition(_ ConditionState, event ConditionEvent) ConditionState {
	if raised, is := event.(ConditionRaised); is {
		return ConditionState{Alert: raised.Alert, Since: raised.At}
	}
	return ConditionState{}
}

// RaiseCondition says that a condition holds. If that is known it changes nothing.
type RaiseCondition struct {
	Condition
	Alert string // id of the alert
	At    time.Time
}

// Decide refuses an alert without an id, a source, a subject or a reason.
func (c RaiseCondition) Decide(s ConditionState) ([]ConditionEvent, error) {
	if c.Alert == "" || c.Source == "" || c.Subject == "" || c.Reason == "" {
		return nil, domain.Refuse(domain.Invalid, "An alert needs an id, a source, a subject and a reason")
	}
	if s.Alert != "" {
		return nil, nil
	}
	return []ConditionEvent{ConditionRaised{Alert: c.Alert, Source: c.Source, Subject: c.Subject, Reason: c.Reason,
		At: c.At}}, nil
}

// ClearCondition says that a condition does not hold any more. If that is known it changes nothing.
type ClearCondition struct {
	Alert string // clears only this alert; "" whichever it is
	At    time.Time
}

// Decide clears nothing where another alert is open, and never before it was raised.
func (c ClearCondition) Decide(s ConditionState) ([]ConditionEvent, error) {
	if s.Alert == "" || c.Alert != "" && c.Alert != s.Alert {
		return nil, nil
	}
	at := c.At
	if at.Before(s.Since) {
		at = s.Since
	}
	return []ConditionEvent{ConditionCleared{Alert: s.Alert, At: at}}, nil
}
