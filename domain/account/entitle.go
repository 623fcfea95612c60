package account

import (
	"slices"
	"time"

	"github.com/recital-tts/recital/domain/plan"
)

// Entitle puts the account on the plan of its subscription. It has no effect on a closed account, or for an event no
// newer than the last one that the account followed.
type Entitle struct {
	plan.Entitlement
	Revision int64 // of the subscription's event, in that stream
	At       time.Time
}

// Decide refuses an unknown plan, and an account that does not exist.
func (c Entitle) Decide(s State) ([]Event, error) {
	if !s.Exists() {
		return nil, ErrNoAccount
	}
	if s.Closed() || s.Version > 0 && c.Revision <= s.Followed {
		return nil, nil
	}
	if _, err := plan.Lookup(c.Plan); err != nil {
		return nil, err
	}
	if _, err := plan.Lookup(c.Next); err != nil && !c.End.IsZero() {
		return nil, err
	}
	return []Event{Entitled{
		Account: s.Account, Entitlement: c.After(s.Entitlement, c.At), Revision: c.Revision, Version: s.Version + 1, At: c.At,
	}}, nil
}

// maxBefore is the maximum number of earlier periods in the state. Fewer arise between two runs of billing.
const maxBefore = 8

// entitled returns the state after a change of plan.
func (s State) entitled(e Entitled) State {
	if e.Start.After(s.Entitlement.Start) {
		until := e.Start.Add(-1)
		if e.At.Before(until) { // set by a clock behind the provider's
			until = e.At
		}
		before := append(s.Formers(until), Former{Period: s.Entitlement.At(until), Next: e.Start})
		s.Before = before[max(0, len(before)-maxBefore):]
	}
	s.Entitlement, s.Version, s.Followed = e.Entitlement, e.Version, e.Revision
	return s
}

// Formers returns the periods before the one at a time that may be unclosed or unbilled, oldest first. They are the
// periods that an entitlement has cut short or followed, and the earlier periods of the current entitlement up to its
// first free one: the account may have used its former plan until its end was known.
func (f Facts) Formers(at time.Time) []Former {
	formers := slices.Clip(f.Before)
	if f.Version == 0 && f.Entitlement.Plan == plan.Free { // there was no earlier plan
		return formers
	}
	last := f.Entitlement.At(at).Start
	for p := f.Entitlement.At(f.Entitlement.Start); p.Start.Before(last) && p.Start.Before(p.End); {
		formers = append(formers, Former{Period: p, Next: p.End})
		if p.Plan == plan.Free {
			break
		}
		p = f.Entitlement.At(p.End)
	}
	return formers
}

// Entitlement returns the entitlement of a new account: its plan, in monthly periods counted from the start of
// FreePeriod, or from the opening.
func (e Opened) Entitlement() plan.Entitlement {
	if e.FreePeriod != nil {
		return plan.Entitlement{Plan: e.Plan, Start: e.FreePeriod.Start}
	}
	return plan.Entitlement{Plan: e.Plan, Start: e.At}
}

// PeriodBefore returns the period before one of Entitlement, if there is one.
func (f Facts) PeriodBefore(p plan.Period) (before plan.Period, found bool) {
	switch {
	case p.Start.After(f.Entitlement.Start):
		before = f.Entitlement.At(p.Start.Add(-1))
	case len(f.Before) > 0:
		before = f.Before[len(f.Before)-1].Period
	}
	return before, !before.Start.IsZero() && before.Start.Before(p.Start)
}
