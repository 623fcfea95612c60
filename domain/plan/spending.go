package plan

// Rate is the price of characters past a plan: Millis thousandths of a minor unit of the currency for each full Unit of
// characters. At the zero Rate they are free.
type Rate struct {
	Unit     int64  `json:"unit"`
	Millis   int64  `json:"millis"`
	Currency string `json:"currency"`
}

// Cost returns the number of full units in characters past the plan, and their price in whole minor units.
func (r Rate) Cost(characters int64) (units, amount int64) {
	if r.Unit <= 0 || r.Millis <= 0 || characters <= 0 {
		return 0, 0
	}
	units = characters / r.Unit
	return units, units * r.Millis / 1000
}

// MaxSpendingCap is the largest spending cap, in minor units.
const MaxSpendingCap = 1_000_000_000

// SpendingCap bounds the price of characters past its plan that an account uses in a period. Version counts the caps of
// the account from 1; it is 0 for an account that never had one.
type SpendingCap struct {
	Amount   *int64 `json:"amount"`   // minor units; null means that there is no cap
	Currency string `json:"currency"` // empty without a cap
	Version  int64  `json:"version"`
}

// Same reports whether two caps are equal apart from their versions.
func (c SpendingCap) Same(other SpendingCap) bool {
	if c.Amount == nil || other.Amount == nil {
		return c.Amount == other.Amount
	}
	return *c.Amount == *other.Amount && c.Currency == other.Currency
}

// Permits reports whether an amount at a rate is within the cap. A cap in another currency permits no amount, because
// it cannot be compared.
func (c SpendingCap) Permits(amount int64, at Rate) bool {
	switch {
	case c.Amount == nil:
		return true
	case c.Currency != at.Currency:
		return amount <= 0
	}
	return amount <= *c.Amount
}
