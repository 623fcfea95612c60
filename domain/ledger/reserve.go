package ledger

import (
	"fmt"

	"github.com/recital-tts/recital/domain"
)

// Reserve reserves characters before a reply begins. The account is the period's.
type Reserve Reserved

// Decide refuses with domain.PaymentRequired characters beyond the rest of plan and credit, if the plan is not metered;
// open reservations count against both. It refuses with ErrSpendingCap characters that could exceed the spending cap,
// and with ErrOver if the period is over.
func (c Reserve) Decide(s State) ([]Event, error) {
	if !s.Exists() {
		return nil, domain.Refuse(domain.Conflict, "The period is not open")
	}
	if c.Characters < 0 {
		return nil, domain.Refuse(domain.Invalid, "A number of characters cannot be negative")
	}
	if s.find(c.Reservation) >= 0 {
		return nil, nil
	}
	if s.Over() {
		return nil, ErrOver
	}
	if limit := s.Terms.Limit; limit != nil && !s.Terms.Metered {
		if left := max(0, *limit+s.Credit-s.Settled-s.Reserved); c.Characters > left {
			return nil, domain.Refuse(domain.PaymentRequired,
				fmt.Sprintf("The characters left in this period do not suffice for "+
					"the text: it has %d and %d would fit; upgrade the plan, or wait for the next period", c.Characters, left))
		}
	}
	if !s.withinCap(c.Characters) {
		return nil, ErrSpendingCap
	}
	c.Account = s.Terms.Account
	return []Event{Reserved(c)}, nil
}
