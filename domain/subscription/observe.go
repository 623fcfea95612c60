package subscription

import (
	"slices"
	"time"
)

// Observe records the provider's state of the account at a moment. It is the only source of events about subscriptions,
// cards and invoices, whatever caused the observation. Observing the same state again has no effect.
type Observe struct {
	Customer      string
	Deleted       bool       // the provider no longer has the customer
	Subscriptions []Observed // newest first
	Card          *Card      // that pays; nil for none
	Invoices      []Billed   // newest first
	Grace         time.Duration
	EndDisputed   bool // a lost dispute ends the plan
	At            time.Time
}

// Observed is a subscription in the provider's state.
type Observed struct {
	Terms
	CancelAtPeriodEnd bool
	EndedAt           time.Time // zero: it has not ended
	Scheduled         *Change
	Pending           *Pending
}

// Billed is an invoice in the provider's state. Page and PDF are sealed; they are empty if the provider has none.
type Billed struct {
	ID           string
	Subscription string
	Number       string
	Status       string
	AmountDue    int64
	AmountPaid   int64
	Refunded     int64
	Disputed     bool
	Dispute      string // open, won or lost; "" for none
	DisputedSum  int64
	Attempts     int64
	Currency     string
	CreatedAt    time.Time
	Page, PDF    []byte
}

// Decide returns no event for a customer other than the account's.
func (c Observe) Decide(s State) ([]Event, error) {
	if s.Customer == "" || s.Customer != c.Customer {
		return nil, nil
	}
	o := observation{Observe: c, state: s}
	for _, seen := range slices.Backward(c.Subscriptions) {
		o.subscription(seen)
	}
	if c.Deleted {
		o.deletion()
	}
	o.card()
	for _, seen := range slices.Backward(c.Invoices) {
		o.invoice(seen)
	}
	o.decide(o.state.entitle(c.At)...)
	return o.events, nil
}
