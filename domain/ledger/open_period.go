package ledger

import (
	"time"

	"github.com/recital-tts/recital/domain/plan"
)

// OpenPeriod opens a period. Opening it again has no effect.
type OpenPeriod struct {
	Account    string
	Plan       plan.Plan
	Start, End time.Time
	BroughtIn  int64 // characters that an earlier account of the same person has used of this period
}

// Decide opens the period on the plan's current terms.
func (c OpenPeriod) Decide(s State) ([]Event, error) {
	if s.Exists() {
		return nil, nil
	}
	opened := PeriodOpened{Account: c.Account, Plan: c.Plan.Type, Metered: c.Plan.Metered, Start: c.Start, End: c.End}
	if !c.Plan.Unlimited {
		opened.Limit = &c.Plan.Characters
	}
	if c.BroughtIn == 0 {
		return []Event{opened}, nil
	}
	return []Event{opened, BroughtIn{Account: c.Account, Characters: c.BroughtIn, Start: c.Start}}, nil
}
