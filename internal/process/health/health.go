// Package health checks the parts that the service depends on. Each is declared once, as a Check, and examined by a
// Board. Readiness, alerts, the doctor and the metrics show the results of the board.
package health

import (
	"context"
	"fmt"
	"time"

	"github.com/recital-tts/recital/domain/alert"
)

// State is the severity of a finding.
type State string

// The states.
const (
	OK      State = "ok"
	Warning State = "warning" // clients are not affected yet
	Fault   State = "fault"
)

// Check examines one part. Lacks and Raises are optional.
type Check struct {
	Name string // a statement that is true if the part is sound, such as "the disks have room"
	// Look returns the state of the part. It may be called concurrently.
	Look func(ctx context.Context) Finding
	// Lacks returns the parts that requests lack, in public words. It must be cheap, because load balancers call it often.
	Lacks func() []string
	// Raises reports whether a condition belongs to this check, so that it is cleared when looks do not find it, even if
	// it was raised before a restart. A check without Raises is examined only for the doctor.
	Raises func(alert.Condition) bool
	// Every is the time between two looks; 0 means the board's. A condition is raised when RaiseAfter consecutive looks
	// find it, and ends when ClearAfter consecutive looks do not, so that an intermittent condition raises one alert. Both
	// are 3 by default.
	Every                  time.Duration
	RaiseAfter, ClearAfter int
	// Rules are the Prometheus alert rules for the same condition.
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
	Since  time.Time // its start; zero means the time of the finding
	Detail string    // only for the log; never personal data
}

// Sound returns a finding without problems.
func Sound(format string, of ...any) Finding {
	return Finding{State: OK, Found: fmt.Sprintf(format, of...)}
}

// Broken returns a finding of a fault.
func Broken(found, advice string) Finding { return Finding{State: Fault, Found: found, Advice: advice} }

// But returns the finding with a worse state and advice on what to do.
func (f Finding) But(state State, advice string) Finding {
	f.State, f.Advice = state, advice
	return f
}

// Raising returns the finding with a condition that holds since a time; zero means the time of the finding.
func (f Finding) Raising(condition alert.Condition, since time.Time) Finding {
	f.Problems = append(f.Problems, Problem{condition, since, f.Found})
	return f
}

// ButUnknown returns the finding, which then neither raises nor clears conditions.
func (f Finding) ButUnknown() Finding {
	f.Unknown = true
	return f
}
