// Package payment is the aggregate of the streams payment-<id of a provider's event>: a notice of the payment provider,
// and what came of it.
package payment

import "time"

// StreamPrefix is that of the streams of notices.
const StreamPrefix = "payment-"

// ReconciliationStream is where reconciliations are recorded.
const ReconciliationStream = StreamPrefix + "reconciliation"

// Stream is where a provider's event is kept.
func Stream(id string) string { return StreamPrefix + id }

// AnalyticsStream is where an event is kept that came as a notice for analytics.
func AnalyticsStream(id string) string { return StreamPrefix + "analytics-" + id }

// Event is one of the events below.
type Event interface{ paymentEvent() }

// Received records a notice. Of its content only what is here is kept.
type Received struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`     // such as "customer.subscription.updated"
	Object    string    `json:"object"`   // id of what it is about
	Customer  string    `json:"customer"` // "" where the notice does not say it
	Analytics bool      `json:"analytics,omitempty"`
	CreatedAt time.Time `json:"createdAt"` // by the provider's clock
	At        time.Time `json:"at"`
}

// Handled ends a notice: what it is about was read from the provider, and recorded where it belongs.
type Handled struct {
	ID      string    `json:"id"`
	Account string    `json:"account"` // "" if it is about no account of ours
	At      time.Time `json:"at"`
}

// Reconciled records that every event of the provider until Through, by the provider's clock, is in the log. It stands
// in ReconciliationStream.
type Reconciled struct {
	Through time.Time `json:"through"`
	Missed  int       `json:"missed"` // events that had not come as notices
	At      time.Time `json:"at"`
}

func (Received) paymentEvent()   {}
func (Handled) paymentEvent()    {}
func (Reconciled) paymentEvent() {}
