package account

import (
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/plan"
)

// Open opens an account. Opening it again on the same plan changes nothing.
type Open struct {
	Account string
	Plan    plan.Type
	At      time.Time
}

// Decide refuses an unknown plan, and an account that was opened otherwise.
func (c Open) Decide(s State) ([]Event, error) {
	if _, err := plan.Lookup(c.Plan); err != nil {
		return nil, err
	}
	if !s.Exists() {
		return []Event{Opened(c)}, nil
	}
	if s.Plan != c.Plan {
		return nil, domain.Refuse(domain.Conflict, "The account is already open, on another plan")
	}
	return nil, nil
}
