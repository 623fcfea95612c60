package account

import (
	"time"

	"github.com/recital-tts/recital/domain"
)

// errClosedForOperators is ErrClosed for callers with valid credentials of their own.
var errClosedForOperators = domain.Refuse(domain.Rejected, "The account is closed")

// OpenOperator opens an account that has the role of an operator from its beginning. Opening it again has no effect,
// even if the role has been withdrawn since.
type OpenOperator struct {
	Open
	By string
}

// Decide returns the errors of Open.
func (c OpenOperator) Decide(s State) ([]Event, error) {
	events, err := c.Open.Decide(s)
	if err != nil || len(events) == 0 {
		return nil, err
	}
	return append(events, OperatorGranted{Account: c.Account, By: c.By, At: c.At}), nil
}

// GrantOperator gives the account the role of an operator. Granting it again has no effect.
type GrantOperator struct {
	By string // the operator's name in the token file
	At time.Time
}

// Decide refuses an account that is not open.
func (c GrantOperator) Decide(s State) ([]Event, error) {
	if err := s.requireOpenTo(errClosedForOperators); err != nil || s.Operator {
		return nil, err
	}
	return []Event{OperatorGranted{Account: s.Account, By: c.By, At: c.At}}, nil
}

// WithdrawOperator withdraws the role of an operator. It has no effect on an account without the role.
type WithdrawOperator struct {
	By string
	At time.Time
}

// Decide refuses an account that is not open.
func (c WithdrawOperator) Decide(s State) ([]Event, error) {
	if err := s.requireOpenTo(errClosedForOperators); err != nil || !s.Operator {
		return nil, err
	}
	return []Event{OperatorWithdrawn{Account: s.Account, By: c.By, At: c.At}}, nil
}
