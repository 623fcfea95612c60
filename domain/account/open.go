package account

import (
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/plan"
)

// Open opens an account. Opening it again has no effect.
type Open Opened

// Decide refuses an unknown plan, and an account that was opened differently or is closed.
func (c Open) Decide(s State) ([]Event, error) {
	if _, err := plan.Lookup(c.Plan); err != nil {
		return nil, err
	}
	if c.FreePeriod != nil && (!c.FreePeriod.Start.Before(c.FreePeriod.End) || c.FreePeriod.Used < 0) {
		return nil, domain.Refuse(domain.Invalid, "A free period ends after its start, and its use is not negative")
	}
	switch {
	case !s.Exists():
		return []Event{Opened(c)}, nil
	case s.Closed():
		return nil, ErrClosed
	case s.Identity != c.Identity:
		return nil, domain.Refuse(domain.Conflict, "The account is already open, by someone else")
	case c.Identity == "" && s.OpenedOn != c.Plan:
		return nil, domain.Refuse(domain.Conflict, "The account is already open, on another plan")
	}
	return nil, nil
}
