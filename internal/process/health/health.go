// Package health checks the parts that the service depends on. Each is declared once, as a Check, and examined by a
// Board. Readiness, alerts, the doctor and the metrics show the results of the board.
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
	Warning State = "warning" // clients are not affected yet
	Fault   State = "fault"
)

// Check examines one part. Lacks and Raises are optional.
type Check struct {
	Name string // a statement that is true while all is well, such as "the disks have room"
	// Look returns the state of the part. It may be called concurrently.
	Look func(ctx context.Context) Finding
	// Lacks returns what requests lack, in public words. It must be cheap, because balancers ask often.
	Lacks func() []string
	// Raises reports whether a condition is of this check, so that it ends when looks do not find it, even if it was
	// raised before a restart. A check without it is examined only for the doctor.
	Raises func(alert.Condition) bool
	// Every is the time between two looks; 0 means the board's. A condition is raised when it is found RaiseAfter times
	// in a row, and ends when it is not found ClearAfter times in a row, so that a condition that comes and goes raises
	// one alert. Both are 3 by default.
	Every                  time.Duration
	RaiseAfter, ClearAfter int
	// Rules are the alert rules of Prometheus that see the same from outside.
	Rules []string
}

// Finding is the result of a look.
type Finding struct {
	State  State
	Found  string
	Advice string // what to do, unless the state is OK
	// Problems are the conditions that hold. If they are Unknown, earlier ones are neither confirmed nor ended.
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

// But returns a finding that is worse, with advice on what to do.
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
