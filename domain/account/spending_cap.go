package account

import (
	"fmt"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/plan"
)

// SpendingCapSet bounds the price of characters past the account's plan in a period, or removes the bound.
type SpendingCapSet struct {
	Account string `json:"account"`
	plan.SpendingCap
	At time.Time `json:"at"`
}

func (SpendingCapSet) accountEvent() {}

// SetSpendingCap sets the spending cap in minor units of a currency, or removes it without an amount. Setting the same
// cap again has no effect.
type SetSpendingCap struct {
	Amount   *int64
	Currency string // of the account's plan
	At       time.Time
}

// Decide refuses an amount that is out of bounds with domain.Invalid, and an account that is not open.
func (c SetSpendingCap) Decide(s State) ([]Event, error) {
	if err := s.requireOpen(); err != nil {
		return nil, err
	}
	next := plan.SpendingCap{Version: s.SpendingCap.Version + 1}
	if c.Amount != nil {
		if *c.Amount < 0 || *c.Amount > plan.MaxSpendingCap {
			return nil, domain.Refuse(domain.Invalid,
				fmt.Sprintf("A spending cap is 0 to %d minor units of the currency", plan.MaxSpendingCap))
		}
		next.Amount, next.Currency = c.Amount, c.Currency
	}
	if next.Same(s.SpendingCap) {
		return nil, nil
	}
	return []Event{SpendingCapSet{Account: s.Account, SpendingCap: next, At: c.At}}, nil
}
