package ledger

import (
	"time"

	"github.com/recital-tts/recital/domain"
)

// Settle ends a reservation with the number of characters that were delivered.
type Settle struct {
	Reservation string
	Characters  int64
	At          time.Time
}

// Decide decides nothing if the reservation is not open any more: already settled, or expired.
func (c Settle) Decide(s State) ([]Event, error) {
	i := s.find(c.Reservation)
	if i < 0 {
		return nil, nil
	}
	reserved := s.Open[i]
	if c.Characters < 0 || c.Characters > reserved.Characters {
		return nil, domain.Refuse(domain.Invalid, "More characters are settled than were reserved")
	}
	return []Event{Settled{
		Account: s.Terms.Account, Reservation: c.Reservation, Characters: c.Characters, Source: reserved.Source,
		Start: s.Terms.Start, At: c.At,
	}}, nil
}
