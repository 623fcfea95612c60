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
	return []Event{opened}, nil
}
