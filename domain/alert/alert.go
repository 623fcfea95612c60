// Package alert defines the alerts for operators. There are two aggregates:
//
//   - The stream alerts has occasions (Raised). An alert is raised once, however often its source detects the occasion,
//     and stays open until its source or an operator clears it.
//   - Each Condition, which can begin and end repeatedly, has a stream. Each time it holds is an alert with its own id.
package alert

import (
	"time"

	"github.com/recital-tts/recital/domain"
)

// Stream is the stream of the alerts that are raised once.
const Stream = "alerts"

// Event is one of the events below.
type Event interface{ alertEvent() }

// Reason is the reason for an alert.
type Reason string

// The reasons.
const (
	GaveUp    Reason = "gave_up"    // an item of a to-do list failed too often, and is retried only hourly
	Stopped   Reason = "stopped"    // a projection has stopped before an event that it cannot handle
	Outdated  Reason = "outdated"   // a projection has stopped before an event that a newer release wrote
	TakenOver Reason = "taken_over" // another instance moved the checkpoint of a projection that this one was feeding
	NotFed    Reason = "not_fed"    // a generation of a projection has other tables than the release
	NoAppends Reason = "no_appends" // the log took no events for a while
	Unpaid    Reason = "unpaid"     // a subscription was not paid until the end of its grace

	Uncollected  Reason = "uncollected"  // an invoice of characters past a plan was not paid
	DisputeLost  Reason = "dispute_lost" // a payment went back, because its dispute was lost
	Doubled      Reason = "doubled"      // an account pays two subscriptions
	Behind       Reason = "behind"       // a read model lags behind the log
	Unreachable  Reason = "unreachable"  // a part or a provider that recitald needs does not answer
	CrashLoop    Reason = "crash_loop"   // worker processes die one after another
	Failing      Reason = "failing"      // too large a share of syntheses fails
	Refused      Reason = "refused"      // notices of the payment provider are refused
	DiskFull     Reason = "disk_full"    // a disk is nearly full
	Unsettled    Reason = "unsettled"    // reservations are open past their expiry
	Unreconciled Reason = "unreconciled" // the log was not compared with the payment provider for too long
	ChainBroken  Reason = "chain_broken" // the log does not match a signed head
	PutBack      Reason = "put_back"     // the log has lost events that were read from it
	Expiring     Reason = "expiring"     // a certificate or a key is about to expire
)

// Raised is an alert.
type Raised struct {
	Alert   string    `json:"alert"`   // id; equal for the same occasion
	Source  string    `json:"source"`  // the component that raised it: todo/<process>, projection/<name>, event
	Subject string    `json:"subject"` // an id, never personal data
	Reason  Reason    `json:"reason"`
	At      time.Time `json:"at"`
}

// Cleared ends an alert. The metadata shows whether its source or an operator has cleared it.
type Cleared struct {
	Alert string    `json:"alert"`
	At    time.Time `json:"at"`
}

func (Raised) alertEvent()  {}
func (Cleared) alertEvent() {}

// State holds the ids of the raised and of the cleared alerts.
type State struct {
	Raised, Cleared map[string]bool
}

// Evolve returns the state after an event.
func Evolve(s State, event Event) State {
	switch e := event.(type) {
	case Raised:
		s.Raised = domain.With(s.Raised, e.Alert, true)
	case Cleared:
		s.Cleared = domain.With(s.Cleared, e.Alert, true)
	}
	return s
}

// Raise raises an alert. Raising it again has no effect.
type Raise Raised

// Decide refuses an alert without a source, a subject or a reason.
func (c Raise) Decide(s State) ([]Event, error) {
	if c.Alert == "" || c.Source == "" || c.Subject == "" || c.Reason == "" {
		return nil, domain.Refuse(domain.Invalid, "An alert needs an id, a source, a subject and a reason")
	}
	if s.Raised[c.Alert] {
		return nil, nil
	}
	return []Event{Raised(c)}, nil
}

// Clear clears an alert that was raised once. Clearing it again has no effect.
type Clear Cleared

// Decide refuses a command without an alert. The caller ensures that the alert was raised: the stream grows without
// limit, so that it is not read for this.
func (c Clear) Decide(s State) ([]Event, error) {
	if c.Alert == "" {
		return nil, domain.Refuse(domain.Invalid, "The id of the alert is missing")
	}
	if s.Cleared[c.Alert] {
		return nil, nil
	}
	return []Event{Cleared(c)}, nil
}
