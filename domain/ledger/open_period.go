package ledger

import (
	"time"

	"github.com/recital-tts/recital/domain/plan"
)

// OpenPeriod begins a period. Opening it again changes nothing.
type OpenPeriod struct {
	Account    string
	Plan       plan.Plan
	Start, End time.Time
}

// Decide opens the period on the plan's terms of today.
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
