package alert

import (
	"time"

	"github.com/recital-tts/recital/domain"
)

// ConditionPrefix precedes the id of a condition in the name of its stream.
const ConditionPrefix = "condition-"

// Condition is a state that lasts for a while, and can return. The same source, subject and reason are the same
// condition on every instance.
type Condition struct {
	Source  string // the component concerned: log, postgres, projection/<name>
	Subject string // detail of the source, never personal data; the instance if instances differ
	Reason  Reason
}

// Is reports whether another condition is the same.
func (c Condition) Is(other Condition) bool { return c == other }

// ConditionEvent is one of the events below.
type ConditionEvent interface{ conditionEvent() }

// ConditionRaised records that a condition has begun to hold.
type ConditionRaised struct {
	Alert   string    `json:"alert"` // a new one each time
	Source  string    `json:"source"`
	Subject string    `json:"subject"`
	Reason  Reason    `json:"reason"`
	At      time.Time `json:"at"` // start of the condition; the log may have taken the event later
}

// ConditionCleared records that a condition has ceased to hold, or that an operator has cleared its alert. The metadata
// shows which.
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

// ConditionState is the alert of a condition, or the zero value while the condition does not hold. Each event has the
// whole state.
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

// RaiseCondition raises the alert of a condition that holds. While the alert is open, it has no effect.
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

// ClearCondition clears the alert of a condition that has ceased to hold. While no alert is open, it has no effect.
type ClearCondition struct {
	Alert string // clears only this alert; "" means any
	At    time.Time
}

// Decide has no effect while another alert is open. No alert is cleared before the time at which it was raised.
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
