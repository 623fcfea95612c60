package ledger

import "time"

// Expire ends the reservations whose time is over.
type Expire struct{ At time.Time }

// Decide expires what is due.
func (c Expire) Decide(s State) ([]Event, error) {
	var events []Event
	for _, r := range s.Open {
		if !r.ExpiresAt.After(c.At) {
			events = append(events, Expired{Account: s.Terms.Account, Reservation: r.ID, At: c.At})
		}
	}
	return events, nil
}
