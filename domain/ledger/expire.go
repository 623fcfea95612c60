package ledger

import "time"

// Expire ends the reservations that were not settled in time. Seen and Now are readings of a monotonic clock, because a
// jump of the wall clock would end the reservations of replies in progress.
type Expire struct {
	Seen map[string]time.Duration // by reservation: when it was first seen open; a missing one is new
	Now  time.Duration
	At   time.Time
}

// Decide ends the reservations that have been open for their lifetime since they were first seen.
func (c Expire) Decide(s State) ([]Event, error) {
	var events []Event
	for _, r := range s.Open {
		if c.Left(r) <= 0 {
			events = append(events, Expired{Account: s.Terms.Account, Reservation: r.ID, At: c.At})
		}
	}
	return events, nil
}

// Left returns the time until an open reservation expires.
func (c Expire) Left(r Reservation) time.Duration {
	life := r.ExpiresAt.Sub(r.At)
	if seen, known := c.Seen[r.ID]; known {
		return life - (c.Now - seen)
	}
	return max(life, 1)
}
