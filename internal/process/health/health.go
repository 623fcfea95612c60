// Package health looks at what the service rests on. Each thing to look at is declared once, as a Check, and a Board
// looks at it. Readiness, alerts, the doctor and the metrics show what the board knows.
package health

import (
	"context"
	"fmt"
	"time"

	"github.com/recital-tts/recital/domain/alert"
)

// State is how bad a finding is.
type State string

// The states.
const (
	OK      State = "ok"
	Warning State = "warning" // clients notice nothing yet
	Fault   State = "fault"
)

// Check looks at one thing. Lacks and Raises are optional.
type Check struct {
	Name string // a statement that is true while all is well, such as "the disks have room"
	// Look finds out how the thing is. It may be called concurrently.
	Look func(ctx context.Context) Finding
	// Lacks names what requests lack, in words for everybody. It costs nothing, however often balancers ask.
	Lacks func() []string
	// Raises reports whether a condition is of this check, so that it is over when looks do not find it, also if it was
	// raised before a restart. Without it nobody looks until the doctor asks.
	Raises func(alert.Condition) bool
	// Every is the time between two looks; 0 means that of the board. A condition is raised when it is found RaiseAfter
	// times in a row, and over when it is not found ClearAfter times in a row, so that what comes and goes raises one
	// alert and not many. Both are 3 by default.
	Every                  time.Duration
	RaiseAfter, ClearAfter int
	// Rules are the alert rules of Prometheus that see the same from outside.
	Rules []string
}

// Finding is what a look has found out.
type Finding struct {
	State  State
	Found  string
	Advice string // what to do, unless the state is OK
	// Problems are the conditions that hold. If they are Unknown, those that held before are neither confirmed nor
	// over.
	Problems []Problem
	Unknown  bool
}

// Problem is a condition that holds.
type Problem struct {
	alert.Condition
	Since  time.Time // when it began; zero means when it was found
	Detail string    // for the log alone; never personal data
}

// Sound returns a finding in which all is well.
func Sound(format string, of ...any) Finding {
	return Finding{State: OK, Found: fmt.Sprintf(format, of...)}
}

// Broken returns a finding of a fault.
func Broken(found, advice string) Finding { return Finding{State: Fault, Found: found, Advice: advice} }

// But returns a finding that is worse. The advice tells what to do.
func (f Finding) But(state State, advice string) Finding {
	f.State, f.Advice = state, advice
	return f
}

// Raising returns a finding with a condition that holds since a time; zero means since it was found.
func (f Finding) Raising(condition alert.Condition, since time.Time) Finding {
	f.Problems = append(f.Problems, Problem{condition, since, f.Found})
	return f
}

// ButUnknown returns a finding that neither raises nor clears anything.
func (f Finding) ButUnknown() Finding {
	f.Unknown = true
	return f
}
