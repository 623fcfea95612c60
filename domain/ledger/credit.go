package ledger

import (
	"time"

	"github.com/recital-tts/recital/domain"
)

// Limits of grants. MaxGrants bounds the size of a period's state, which includes the grants by operators.
const (
	MaxGrantedAtOnce = 1_000_000_000 // characters
	MaxGrants        = 1_000         // by operators, in one period
	MaxGrantID       = 64            // bytes
)

// Credited is a grant in the state of a period, kept so that a repeated grant counts once.
type Credited struct {
	Grant      string     `json:"grant"`
	Characters int64      `json:"characters"`
	From       *time.Time `json:"from"` // start of the period that it was carried from; null if granted by an operator
}

// CreditSpent returns the number of characters of the credit that are spent. The plan's characters are spent first,
// then credit, then the characters that a metered plan bills. So credit that is granted after overage pays for it
// within the same period. A plan without a limit spends none.
func (s State) CreditSpent() int64 {
	if s.Terms.Limit == nil {
		return 0
	}
	return min(max(s.Settled-*s.Terms.Limit, 0), s.Credit)
}

// CreditLeft returns the number of characters of the credit that are neither spent nor carried into another period.
// Open reservations do not count as spent.
func (s State) CreditLeft() int64 { return s.Credit - s.CreditSpent() - s.Carried }

// GrantOf returns the grant with an id.
func (s State) GrantOf(id string) (grant Credited, found bool) {
	return domain.First(s.Grants, func(g Credited) bool { return g.Grant == id })
}

// givenByOperators returns the number of grants by operators, excluding carried credit.
func (s State) givenByOperators() int {
	n := 0
	for _, g := range s.Grants {
		if g.From == nil {
			n++
		}
	}
	return n
}
