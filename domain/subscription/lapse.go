package subscription

import "time"

// Lapse withdraws the plan of a subscription that is unpaid at the end of its grace period.
type Lapse struct{ At time.Time }

// Decide returns no event before that, or after a payment.
func (c Lapse) Decide(s State) ([]Event, error) {
	current, found := s.Current()
	if !found || phaseOf(current.Status) != due || current.Lapsed || c.At.Before(current.GraceEnds) {
		return nil, nil
	}
	lapsed := Lapsed{Account: s.Account, Subscription: current.Subscription, At: c.At}
	return append([]Event{lapsed}, Evolve(s, lapsed).entitle(c.At)...), nil
}
