package ledger

import (
	"time"

	"github.com/recital-tts/recital/domain"
)

// ErrOver refuses commands on a period whose credit was carried over: they belong to a later period.
var ErrOver = domain.Refuse(domain.Conflict, "The period is over")

// Carry ends a period after its end time. Its remaining credit is to be granted in the period that starts at To, unless the
// account forfeits it.
type Carry struct {
	To      time.Time
	Forfeit bool
	At      time.Time
}

// Decide decides nothing if the period has already ended, or while reservations are open, because settling them may
// spend credit.
func (c Carry) Decide(s State) ([]Event, error) {
	switch {
	case !s.Exists():
		return nil, domain.Refuse(domain.Conflict, "The period is not open")
	case s.Over():
		return nil, nil
	case c.At.Before(s.Terms.End) || c.To.Before(s.Terms.End):
		return nil, domain.Refuse(domain.Conflict, "The period is not over yet")
	case len(s.Open) > 0:
		return nil, nil
	}
	rest := s.CreditLeft()
	if c.Forfeit {
		rest = 0
	}
	return []Event{CreditCarried{Account: s.Terms.Account, Characters: rest, Start: s.Terms.Start, To: c.To, At: c.At}}, nil
}
