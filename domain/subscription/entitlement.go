package subscription

import (
	"time"

	"github.com/recital-tts/recital/domain/plan"
)

// entitle returns the account's entitlement if it has changed since the last event, and no event for an account that
// has never bought a plan.
func (s State) entitle(at time.Time) []Event {
	now, is := s.entitlement(at)
	if !is || s.Entitled != nil && *s.Entitled == now {
		return nil
	}
	return []Event{Entitled{Account: s.Account, Entitlement: now, At: at}}
}

func (s State) entitlement(at time.Time) (plan.Entitlement, bool) {
	current, found := s.Current()
	if found && !current.Lapsed && current.Plan != "" {
		return current.entitlement(), true
	}
	former := s.Entitled
	if former == nil || former.Plan == plan.Free {
		return plan.Entitlement{}, false
	}
	ended := at
	if !found {
		ended = s.lastEnd(at)
	}
	if ended.Before(former.Start) {
		ended = former.Start
	}
	return plan.Entitlement{Plan: plan.Free, Start: ended}, true
}

// entitlement returns the entitlement of a current subscription.
func (c Subscription) entitlement() plan.Entitlement {
	e := plan.Entitlement{Plan: c.Plan, Start: c.PeriodStart, End: c.PeriodEnd, Next: c.Plan, Anchor: c.Anchor}
	switch {
	case !c.CancelAt.IsZero():
		e.Next = plan.Free
	case c.Scheduled != nil && c.Scheduled.Plan != "":
		e.Next = c.Scheduled.Plan
	}
	return e
}

// lastEnd returns the end of the last subscription that ran. It is no later than the end of the period, although the
// provider takes some seconds longer, so that a scheduled and an observed end are equal.
func (s State) lastEnd(at time.Time) time.Time {
	var last time.Time
	for _, known := range s.Subscriptions {
		ended := known.EndedAt
		if ended.After(known.PeriodEnd) {
			ended = known.PeriodEnd
		}
		if known.Ran && ended.After(last) {
			last = ended
		}
	}
	if last.IsZero() {
		return at
	}
	return last
}
