// Package payment is the aggregate of the streams payment-<id of a provider's event>: a notice from the payment
// provider, and its outcome.
package payment

import "time"

// StreamPrefix begins the names of the streams of notices.
const StreamPrefix = "payment-"

// ReconciliationStream is where reconciliations are recorded.
const ReconciliationStream = StreamPrefix + "reconciliation"

// Stream returns the stream of a provider's event.
func Stream(id string) string { return StreamPrefix + id }

// AnalyticsStream returns the stream of a provider's event that arrived as a notice for analytics.
func AnalyticsStream(id string) string { return StreamPrefix + "analytics-" + id }

// Event is one of the events below.
type Event interface{ paymentEvent() }

// Received records a notice. Only these fields of its content are kept.
type Received struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`     // such as "customer.subscription.updated"
	Object    string    `json:"object"`   // id of the object concerned
	Customer  string    `json:"customer"` // "" if the notice names none
	Analytics bool      `json:"analytics,omitempty"`
	CreatedAt time.Time `json:"createdAt"` // by the provider's clock
	At        time.Time `json:"at"`
}

// Handled ends a notice: its object was read from the provider and recorded in its own stream.
type Handled struct {
	ID      string    `json:"id"`
	Account string    `json:"account"` // "" if it concerns no account
	At      time.Time `json:"at"`
}

// Reconciled records that every event of the provider until Through, by the provider's clock, is in the log. It is in
// ReconciliationStream.
type Reconciled struct {
	Through time.Time `json:"through"`
	Missed  int       `json:"missed"` // events that had not arrived as notices
	At      time.Time `json:"at"`
}

func (Received) paymentEvent()   {}
func (Handled) paymentEvent()    {}
func (Reconciled) paymentEvent() {}
