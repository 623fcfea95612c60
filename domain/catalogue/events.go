// Package catalogue is the aggregate of the stream catalogue: the prices of plans that are on sale, as the payment
// provider lists them. Amounts are integers in minor units of the currency beside them.
package catalogue

import (
	"time"

	"github.com/recital-tts/recital/domain/plan"
)

// Stream is the only stream of its kind.
const Stream = "catalogue"

// Event is one of the events below.
type Event interface{ catalogueEvent() }

// Price is a monthly price of a plan.
type Price struct {
	ID       string    `json:"price"`
	Name     string    `json:"name"` // of the product
	Plan     plan.Type `json:"plan"`
	Amount   int64     `json:"amount"` // per month
	Currency string    `json:"currency"`
	// Characters past the plan's cost OverageMillis thousandths of a minor unit for each full OverageUnit of
	// characters.
	OverageMillis int64 `json:"overageMillis"`
	OverageUnit   int64 `json:"overageUnit"`
}

// PriceListed puts a price on sale, or changes one.
type PriceListed struct {
	Price
	At time.Time `json:"at"`
}

// PriceWithdrawn takes a price off sale. Its subscribers keep it.
type PriceWithdrawn struct {
	ID string    `json:"price"`
	At time.Time `json:"at"`
}

func (PriceListed) catalogueEvent()    {}
func (PriceWithdrawn) catalogueEvent() {}
