package subscription

import (
	"slices"

	"github.com/recital-tts/recital/domain"
)

// RecordLoss records that an amount will not be collected. Recording the loss of an object again has no effect.
type RecordLoss Lost

// Decide refuses a loss without an amount.
func (c RecordLoss) Decide(s State) ([]Event, error) {
	switch {
	case c.Object == "" || c.Amount <= 0 || c.Currency == "":
		return nil, domain.Refuse(domain.Invalid, "A loss needs an object, an amount and a currency")
	case slices.Contains(s.Lost, c.Object):
		return nil, nil
	}
	return []Event{Lost(c)}, nil
}
