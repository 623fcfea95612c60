package health

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/recital-tts/recital/domain/alert"
)

// lookTimeout bounds one look.
const lookTimeout = 10 * time.Second

// Alerts raises and clears the alerts of conditions. It never blocks.
type Alerts interface {
	Holds(condition alert.Condition, since time.Time, detail string)
	Over(condition alert.Condition)
	Known() []alert.Condition // of open alerts
}

// Board has the checks of an instance.
type Board struct {
	alerts Alerts
	every  time.Duration
	checks []*watched
}

// NewBoard returns a board without checks. every is the default interval of checks.
func NewBoard(alerts Alerts, every time.Duration) *Board { return &Board{alerts: alerts, every: every} }

// Add adds checks. It must not be called after any other method.
func (b *Board) Add(checks ...Check) {
	for _, check := range checks {
		check.Every = cmp.Or(check.Every, b.every)
		check.RaiseAfter, check.ClearAfter = cmp.Or(check.RaiseAfter, 3), cmp.Or(check.ClearAfter, 3)
		b.checks = append(b.checks, &watched{Check: check, streaks: map[alert.Condition]streak{}})
	}
}

// Missing returns the parts that requests lack. It is empty if requests can be served.
func (b *Board) Missing() (names []string) {
	for _, check := range b.checks {
		if check.Lacks != nil {
			names = append(names, check.Lacks()...)
		}
	}
	return names
}

// Result is the latest finding of a check.
type Result struct {
	Check  string    `json:"check"`
	State  State     `json:"state"`
	Since  time.Time `json:"since,omitzero"` // first observation of this state
	Found  string    `json:"found,omitempty"`
	Advice string    `json:"advice,omitempty"` // what to do, unless the state is ok
}

// Examine runs all checks concurrently, and returns the results in the order of the checks.
func (b *Board) Examine(ctx context.Context) []Result {
	results := make([]Result, len(b.checks))
	var group sync.WaitGroup
	for i, check := range b.checks {
		group.Go(func() { _, results[i] = check.look(ctx) })
	}
	group.Wait()
	return results
}

// Run runs the checks that can raise alerts until ctx ends, and returns nil. A check that hangs does not delay others.
func (b *Board) Run(ctx context.Context) error {
	var group sync.WaitGroup
	for _, check := range b.checks {
		if check.Raises != nil {
			group.Go(func() { b.watch(ctx, check) })
		}
	}
	group.Wait()
	return nil
}

func (b *Board) watch(ctx context.Context, check *watched) {
	ticker := time.NewTicker(check.Every)
	defer ticker.Stop()
	for ctx.Err() == nil {
		finding, _ := check.look(ctx)
		if ctx.Err() == nil && !finding.Unknown {
			check.judge(b.alerts, finding.Problems)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// watched is a check with its findings.
type watched struct {
	Check
	streaks map[alert.Condition]streak // used only by Run

	mu    sync.Mutex
	state State
	since time.Time
}

// look runs the check. The result includes the time of the last change of its state.
func (w *watched) look(ctx context.Context) (Finding, Result) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	finding := w.Look(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if finding.State != w.state {
		w.state, w.since = finding.State, time.Now().UTC()
	}
	return finding, Result{Check: w.Name, State: w.state, Since: w.since, Found: finding.Found, Advice: finding.Advice}
}

// streak counts consecutive looks that found, or did not find, a condition.
type streak struct {
	found, missed int
	since         time.Time // the first finding
}

// judge raises the alerts of conditions that were found often enough, and clears those that have ended.
func (w *watched) judge(alerts Alerts, problems []Problem) {
	found := map[alert.Condition]bool{}
	for _, problem := range problems {
		found[problem.Condition] = true
		s := w.streaks[problem.Condition]
		if s.found == 0 {
			s.since = time.Now()
		}
		s.found, s.missed = s.found+1, 0
		w.streaks[problem.Condition] = s
		if problem.Since.IsZero() {
			problem.Since = s.since
		}
		if s.found >= w.RaiseAfter {
			alerts.Holds(problem.Condition, problem.Since, problem.Detail)
		}
	}
	for _, condition := range alerts.Known() {
		if _, followed := w.streaks[condition]; !followed && w.Raises(condition) {
			w.streaks[condition] = streak{}
		}
	}
	w.judgeMissed(alerts, found)
}

func (w *watched) judgeMissed(alerts Alerts, found map[alert.Condition]bool) {
	for condition, s := range w.streaks {
		if found[condition] {
			continue
		}
		s.found, s.missed = 0, s.missed+1
		w.streaks[condition] = s
		if s.missed >= w.ClearAfter {
			alerts.Over(condition)
			delete(w.streaks, condition)
		}
	}
}

// Tally is a pair of counters that only rise.
type Tally struct{ All, Bad uint64 }

// Window keeps the values of a tally for a limited time. It is safe for concurrent use.
type Window struct {
	Length  time.Duration
	mu      sync.Mutex
	samples []sample
}

type sample struct {
	at time.Time
	Tally
}

// Since adds a sample and returns the counts within the window.
func (w *Window) Since(now time.Time, t Tally) Tally {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.samples = append(w.samples, sample{now, t})
	for len(w.samples) > 1 && now.Sub(w.samples[0].at) > w.Length {
		w.samples = w.samples[1:]
	}
	first := w.samples[0]
	return Tally{t.All - first.All, t.Bad - first.Bad}
}
