package subscription

import "time"

// Lapse withdraws the plan of a subscription that nobody has paid until the end of the grace.
type Lapse struct{ At time.Time }

// Decide decides nothing before that, and after a payment.
func (c Lapse) Decide(s State) ([]Event, error) {
	current, found := s.Current()
	if !found || phaseOf(current.Status) != due || current.Lapsed || c.At.Before(current.GraceEnds) {
		return nil, nil
	}
	lapsed := Lapsed{Account: s.Account, Subscription: current.Subscription, At: c.At}
	return append([]Event{lapsed}, Evolve(s, lapsed).entitle(c.At)...), nil
}
