package ledger

import "time"

// The bounds of grants. MaxGrants bounds the state of a period, which remembers the grants that operators gave in it.
const (
	MaxGrantedAtOnce = 1_000_000_000 // characters
	MaxGrants        = 1_000         // of operators, in one period
	MaxGrantID       = 64            // bytes
)

// Credited is a grant as a period remembers it, so that it counts once however often it is given.
type Credited struct {
	Grant      string     `json:"grant"`
	Characters int64      `json:"characters"`
	From       *time.Time `json:"from"` // start of the period that it was carried from; null when an operator gave it
}

// CreditSpent is how many characters of the credit are spent. The plan's characters are spent first, then credit, then
// what a metered plan bills: so a credit that comes after overage pays for it within the same period. A plan without a
// limit spends none.
func (s State) CreditSpent() int64 {
	if s.Terms.Limit == nil {
		return 0
	}
	return min(max(s.Settled-*s.Terms.Limit, 0), s.Credit)
}

// CreditLeft is how many characters of the credit are neither spent nor carried into another period. Open reservations
// are not spent.
func (s State) CreditLeft() int64 { return s.Credit - s.CreditSpent() - s.Carried }

// GrantOf finds a grant of the period by its id.
func (s State) GrantOf(id string) (grant Credited, found bool) {
	for _, g := range s.Grants {
		if g.Grant == id {
			return g, true
		}
	}
	return Credited{}, false
}

// givenByOperators counts the grants that were not carried from another period.
func (s State) givenByOperators() int {
	n := 0
	for _, g := range s.Grants {
		if g.From == nil {
			n++
		}
	}
	return n
}
