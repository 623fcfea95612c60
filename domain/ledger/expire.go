package ledger

import "time"

// Expire ends the reservations that have expired.
type Expire struct{ At time.Time }

// Decide ends the reservations that are due.
func (c Expire) Decide(s State) ([]Event, error) {
	var events []Event
	for _, r := range s.Open {
		if !r.ExpiresAt.After(c.At) {
			events = append(events, Expired{Account: s.Terms.Account, Reservation: r.ID, At: c.At})
		}
	}
	return events, nil
}
