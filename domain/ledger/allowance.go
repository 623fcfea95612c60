package ledger

import "github.com/recital-tts/recital/domain/plan"

// Allowance is an account's limit and usage in a period, in characters.
type Allowance struct {
	Plan     plan.Type
	Limit    *int64 // of the plan; nil means no limit
	Settled  int64
	Reserved int64 // by replies in progress
	Credit   int64 // remaining beyond the plan: CreditLeft
}

// Allowance returns the allowance of the period.
func (s State) Allowance() Allowance {
	return Allowance{Plan: s.Terms.Plan, Limit: s.Terms.Limit, Settled: s.Settled, Reserved: s.Reserved,
		Credit: s.CreditLeft()}
}

// Remaining returns the number of characters that plan and credit leave for further reservations. A free account may
// reserve no more, and a metered one is billed for more. It is never negative. Without a limit it is meaningless, and
// limited is false.
func (a Allowance) Remaining() (characters int64, limited bool) {
	if a.Limit == nil {
		return 0, false
	}
	return max(0, max(0, *a.Limit-a.Settled)+a.Credit-a.Reserved), true
}
