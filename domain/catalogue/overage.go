package catalogue

import "github.com/recital-tts/recital/domain/plan"

// Overage is the price of characters past a plan.
type Overage struct {
	Units    int64 // full units
	Amount   int64
	Currency string
}

// Rate returns the price of characters past the plan.
func (p Price) Rate() plan.Rate {
	return plan.Rate{Unit: p.OverageUnit, Millis: p.OverageMillis, Currency: p.Currency}
}

// Overage returns the price of characters past the plan: full units only, and whole minor units only.
func (p Price) Overage(characters int64) Overage {
	units, amount := p.Rate().Cost(characters)
	return Overage{Units: units, Amount: amount, Currency: p.Currency}
}
