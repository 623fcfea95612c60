package ledger

import (
	"time"

	"github.com/recital-tts/recital/domain/plan"
)

// OpenPeriod opens a period, or puts it on newer terms, from this point of the ledger on. It has no effect if the
// period is open on the same or newer terms.
type OpenPeriod struct {
	Account    string
	Plan       plan.Plan
	Start, End time.Time
	Version    int64 // of the entitlement
	BroughtIn  int64 // characters that an earlier account of the same person has used of this period
	Cap        plan.SpendingCap
	Rate       plan.Rate // of characters past the plan; zero without a cap
	At         time.Time
}

// Decide opens the period on the plan's current terms. A period that is over keeps its terms.
func (c OpenPeriod) Decide(s State) ([]Event, error) {
	if s.Over() {
		return nil, nil
	}
	return append(c.terms(s), c.cap(s)...), nil
}

// terms returns the events that open the period or put it on newer terms.
func (c OpenPeriod) terms(s State) []Event {
	if s.Exists() && c.Version <= s.Terms.Version {
		return nil
	}
	opened := PeriodOpened{Account: c.Account, Plan: c.Plan.Type, Metered: c.Plan.Metered, Start: c.Start, End: c.End,
		Version: c.Version}
	if !c.Plan.Unlimited {
		opened.Limit = &c.Plan.Characters
	}
	if s.Exists() {
		return []Event{TermsChanged{PeriodOpened: opened, Before: s.Terms.Version, Overage: s.billedBefore(opened), At: c.At}}
	}
	if c.BroughtIn == 0 {
		return []Event{opened}
	}
	return []Event{opened, BroughtIn{Account: c.Account, Characters: c.BroughtIn, Start: c.Start}}
}

// billedBefore returns the characters to be billed on the earlier terms. If the next terms are the same, the characters
// may still complete a unit: otherwise an account that cancels and resumes before each full unit would pay for none.
func (s State) billedBefore(next PeriodOpened) int64 {
	same := next.Plan == s.Terms.Plan && next.Metered == s.Terms.Metered &&
		next.Limit != nil && s.Terms.Limit != nil && *next.Limit == *s.Terms.Limit
	if same {
		return 0
	}
	return s.excess()
}
