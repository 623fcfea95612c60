package ledger

import (
	"time"

	"github.com/recital-tts/recital/domain"
)

// ErrOver refuses commands on a period that has ended: they belong to a later period.
var ErrOver = domain.Refuse(domain.Conflict, "The period is over")

// Carry carries the remaining credit out of a period after its end, and ends the period if that is missing. The credit
// is granted in the period that starts at To, unless the account forfeits it.
type Carry struct {
	To      time.Time
	Forfeit bool
	At      time.Time
}

// Decide returns no event if the credit was carried already, or while reservations are open, because settling them may
// spend credit.
func (c Carry) Decide(s State) ([]Event, error) {
	if err := s.requireEnd(c.To, c.At); err != nil || !s.CarriedTo.IsZero() || len(s.Open) > 0 {
		return nil, err
	}
	rest := s.CreditLeft()
	if c.Forfeit {
		rest = 0
	}
	return []Event{CreditCarried{Account: s.Terms.Account, Characters: rest, Start: s.Terms.Start, To: c.To, At: c.At}},
		nil
}
