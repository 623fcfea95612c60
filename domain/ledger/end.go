package ledger

import (
	"time"

	"github.com/recital-tts/recital/domain"
)

// End ends a period, because the account's next one starts at To. Ending it again has no effect.
type End struct{ To, At time.Time }

// Decide refuses to end a period that does not start before the next one.
func (c End) Decide(s State) ([]Event, error) {
	switch {
	case !s.Exists():
		return nil, domain.Refuse(domain.Conflict, "The period is not open")
	case s.Over():
		return nil, nil
	case !s.Terms.Start.Before(c.To):
		return nil, domain.Refuse(domain.Conflict, "The period is not over yet")
	}
	end := s.Terms.End
	if c.To.Before(end) {
		end = c.To
	}
	return []Event{Ended{Account: s.Terms.Account, Start: s.Terms.Start, End: end, To: c.To, At: c.At}}, nil
}

// Close closes a period after its end. The account's next one starts at To. Closing it again has no effect.
type Close struct{ To, At time.Time }

// Decide returns no event while reservations are open, because settling them may exceed the plan.
func (c Close) Decide(s State) ([]Event, error) {
	if err := s.requireEnd(c.To, c.At); err != nil || s.Closed() || len(s.Open) > 0 {
		return nil, err
	}
	return []Event{Closed{
		Account: s.Terms.Account, Version: s.Terms.Version, Overage: s.excess(), Start: s.Terms.Start, To: c.To, At: c.At,
	}}, nil
}

// excess returns the settled characters past plan and credit on the present terms, or 0 if the plan does not bill them.
func (s State) excess() int64 { return s.excessOf(s.Settled) }

// excessOf returns the excess of a number of characters on the present terms.
func (s State) excessOf(used int64) int64 {
	if s.Terms.Limit == nil || !s.Terms.Metered {
		return 0
	}
	return max(0, used-*s.Terms.Limit-s.Credit)
}

// requireEnd refuses a period that has not ended, when the account's next one starts at a time.
func (s State) requireEnd(next, now time.Time) error {
	switch {
	case !s.Exists():
		return domain.Refuse(domain.Conflict, "The period is not open")
	case !s.Over() && (now.Before(s.Terms.End) || next.Before(s.Terms.End)):
		return domain.Refuse(domain.Conflict, "The period is not over yet")
	}
	return nil
}

// RecordBilled records that the overage on the terms of a version of the entitlement is billed. Recording it again has
// no effect.
type RecordBilled struct {
	Version        int64
	Units, Amount  int64
	Currency, Item string
	At             time.Time
}

// Decide refuses terms that have not ended, or that have no overage.
func (c RecordBilled) Decide(s State) ([]Event, error) {
	switch overage, found := s.OverageOn(c.Version); {
	case !found:
		return nil, domain.Refuse(domain.Conflict, "The period has no overage on these terms")
	case overage.Billed:
		return nil, nil
	default:
		return []Event{OverageBilled{
			Account: s.Terms.Account, Version: c.Version, Characters: overage.Characters, Units: c.Units, Amount: c.Amount,
			Currency: c.Currency, Item: c.Item, Start: s.Terms.Start, At: c.At,
		}}, nil
	}
}
