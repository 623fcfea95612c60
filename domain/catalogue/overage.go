package catalogue

// Overage is what characters past a plan cost.
type Overage struct {
	Units    int64 // full units
	Amount   int64
	Currency string
}

// Overage returns what characters past the plan cost at the price: full units only, and whole minor units only.
func (p Price) Overage(characters int64) Overage {
	if p.OverageUnit <= 0 || p.OverageMillis <= 0 || characters <= 0 {
		return Overage{Currency: p.Currency}
	}
	units := characters / p.OverageUnit
	return Overage{Units: units, Amount: units * p.OverageMillis / 1000, Currency: p.Currency}
}
