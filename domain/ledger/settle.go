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

// Decide returns no event if the reservation was settled already or has expired. If the usage reaches a share of plan
// and credit, or of the spending cap, an event for that follows the settlement.
func (c Settle) Decide(s State) ([]Event, error) {
	i := s.find(c.Reservation)
	if i < 0 {
		return nil, nil
	}
	reserved := s.Open[i]
	if c.Characters < 0 || c.Characters > reserved.Characters {
		return nil, domain.Refuse(domain.Invalid, "More characters are settled than were reserved")
	}
	settled := Settled{
		Account: s.Terms.Account, Reservation: c.Reservation, Characters: c.Characters, Source: reserved.Source,
		Start: s.Terms.Start, At: c.At,
	}
	return append([]Event{settled}, s.reached(settled)...), nil
}

// reached returns the greatest shares of plan and credit, and of the spending cap, that the usage reaches with a
// settlement. The usage only grows while terms, credit and cap are unchanged, so each share is reached once on them.
func (s State) reached(e Settled) (events []Event) {
	if s.Over() {
		return nil
	}
	used := s.Settled + e.Characters
	if s.Terms.Limit != nil {
		limit := *s.Terms.Limit + s.Credit
		if percent := shareReached(s.Settled, used, limit); percent > 0 {
			events = append(events, UsageReached{Account: e.Account, Percent: percent, Characters: used, Limit: limit,
				Start: e.Start, At: e.At})
		}
	}
	if limit := s.Cap.Amount; limit != nil && s.Cap.Currency == s.Rate.Currency {
		spent := s.cost(used)
		if percent := shareReached(s.Spent(), spent, *limit); percent > 0 {
			events = append(events, SpendingReached{Account: e.Account, Percent: percent, Spent: spent, Cap: *limit,
				Currency: s.Cap.Currency, Start: e.Start, At: e.At})
		}
	}
	return events
}

// shareReached returns the greatest share of a limit, in per cent, that is reached between two amounts; 0 if none is.
func shareReached(before, after, limit int64) int64 {
	for _, percent := range []int64{100, 80} {
		if share := percent * limit; before*100 < share && share <= after*100 {
			return percent
		}
	}
	return 0
}
