// Package subscription is the aggregate of stream subscription-<account>: the requests of an account's owner to the
// payment provider, and the provider's state of the account. A request is recorded before the provider is called.
// Everything else is recorded as read from the provider, so that the order, the number and the loss of its notices do
// not matter. Amounts are integers in minor units of the currency beside them.
package subscription

import (
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/plan"
)

// StreamPrefix begins the names of the streams of subscriptions. The account's id follows it.
const StreamPrefix = "subscription-"

// Stream returns the stream of an account's subscription.
func Stream(account string) string { return StreamPrefix + account }

// Event is one of the events below.
type Event interface{ subscriptionEvent() }

// Kind is the kind of a request.
type Kind string

// The kinds of requests.
const (
	Subscribe           Kind = "subscribe"
	ChangePlan          Kind = "change-plan"
	DropScheduledChange Kind = "cancel-scheduled-change"
	Cancel              Kind = "cancel"
	Uncancel            Kind = "uncancel"
	SetupCard           Kind = "setup-intent"
	ReplaceCard         Kind = "payment-method-replace"
	End                 Kind = "end"          // because the account was closed
	EndDisputed         Kind = "end-disputed" // a dispute was lost: all subscriptions end, and a new one is permitted
)

// Requested records a request to the provider before the provider is called. Request is the id by which the provider
// recognises a repetition.
type Requested struct {
	Account       string    `json:"account"`
	Request       string    `json:"request"`
	Kind          Kind      `json:"kind"`
	Price         string    `json:"price,omitempty"`
	Plan          plan.Type `json:"plan,omitempty"` // of the price
	Downgrade     bool      `json:"downgrade,omitempty"`
	Subscription  string    `json:"subscription,omitempty"` // the one to change
	PaymentMethod string    `json:"paymentMethod,omitempty"`
	Coupon        string    `json:"coupon,omitempty"`
	Replaces      string    `json:"replaces,omitempty"` // invoice of the pending change that is dropped for it
	domain.Repetition
	At time.Time `json:"at"`
}

// Agreed ends a request that the provider carried out.
type Agreed struct {
	Account     string    `json:"account"`
	Request     string    `json:"request"`
	Object      string    `json:"object,omitempty"`     // the subscription or the set-up that it made
	EffectiveAt time.Time `json:"effectiveAt,omitzero"` // of a change or a cancellation
	First       *First    `json:"first,omitempty"`      // of a new subscription
	At          time.Time `json:"at"`
}

// First is the first invoice of a subscription. A repetition of the request is answered with it.
type First struct {
	Invoice  string `json:"invoice"`
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
	Discount string `json:"discount,omitempty"` // its name; "" for none
	Reduces  string `json:"reduces,omitempty"`  // the discount in words
}

// Reason is the reason for a refusal.
type Reason string

// The reasons.
const (
	Declined    Reason = "declined"    // the card was declined
	Unconfirmed Reason = "unconfirmed" // the card's owner has to confirm the payment
	NotThere    Reason = "not-there"   // the provider does not know the object
	Forbidden   Reason = "forbidden"   // the provider does not permit it
)

// Refused ends a request that the provider refused. After Unconfirmed the change is pending until the invoice is paid.
type Refused struct {
	Account string    `json:"account"`
	Request string    `json:"request"`
	Reason  Reason    `json:"reason"`
	Decline string    `json:"decline,omitempty"` // why the card was declined, by the card's issuer
	Invoice string    `json:"invoice,omitempty"` // to be confirmed
	At      time.Time `json:"at"`
}

// CustomerCreated records the account's customer at the provider.
type CustomerCreated struct {
	Account  string    `json:"account"`
	Customer string    `json:"customer"`
	At       time.Time `json:"at"`
}

// CustomerDeleted records that the provider no longer has the customer. Another one is created when it is needed.
type CustomerDeleted struct {
	Account  string    `json:"account"`
	Customer string    `json:"customer"`
	At       time.Time `json:"at"`
}

// Terms are the terms of a subscription at a moment.
type Terms struct {
	Subscription string    `json:"subscription"`
	Price        string    `json:"price"`
	Plan         plan.Type `json:"plan"`
	Status       string    `json:"status"` // the provider's
	PeriodStart  time.Time `json:"periodStart"`
	PeriodEnd    time.Time `json:"periodEnd"`
	Anchor       time.Time `json:"anchor"` // from which the periods count by months
}

// Created records a new subscription, which may be waiting for its first payment.
type Created struct {
	Account string `json:"account"`
	Terms
	At time.Time `json:"at"`
}

// Activated records that a subscription is paid: for the first time, or again.
type Activated struct {
	Account string `json:"account"`
	Terms
	At time.Time `json:"at"`
}

// Renewed records another period.
type Renewed struct {
	Account string `json:"account"`
	Terms
	At time.Time `json:"at"`
}

// PlanChanged records another price, possibly with another period.
type PlanChanged struct {
	Account string `json:"account"`
	Terms
	From plan.Type `json:"from"`
	At   time.Time `json:"at"`
}

// ChangeScheduled records a change that takes effect later, in place of any other.
type ChangeScheduled struct {
	Account      string    `json:"account"`
	Subscription string    `json:"subscription"`
	Price        string    `json:"price"`
	Plan         plan.Type `json:"plan"`
	EffectiveAt  time.Time `json:"effectiveAt"`
	At           time.Time `json:"at"`
}

// ScheduledChangeDropped records that a scheduled change was dropped or took effect.
type ScheduledChangeDropped struct {
	Account      string    `json:"account"`
	Subscription string    `json:"subscription"`
	At           time.Time `json:"at"`
}

// ChangePending records a change that is made when its invoice is paid, in place of any other. Until ExpiresAt the
// card's owner can confirm the payment.
type ChangePending struct {
	Account      string    `json:"account"`
	Subscription string    `json:"subscription"`
	Price        string    `json:"price"`
	Plan         plan.Type `json:"plan"`
	Invoice      string    `json:"invoice"`
	ExpiresAt    time.Time `json:"expiresAt"`
	At           time.Time `json:"at"`
}

// PendingChangeEnded records that a pending change was made or has lapsed.
type PendingChangeEnded struct {
	Account      string    `json:"account"`
	Subscription string    `json:"subscription"`
	Made         bool      `json:"made"`
	At           time.Time `json:"at"`
}

// CancellationScheduled records that the subscription ends at a time.
type CancellationScheduled struct {
	Account      string    `json:"account"`
	Subscription string    `json:"subscription"`
	CancelAt     time.Time `json:"cancelAt"`
	At           time.Time `json:"at"`
}

// CancellationWithdrawn records that the subscription continues.
type CancellationWithdrawn struct {
	Account      string    `json:"account"`
	Subscription string    `json:"subscription"`
	At           time.Time `json:"at"`
}

// FellDue records that a payment of a running subscription is missing. The plan is granted until GraceEnds.
type FellDue struct {
	Account string `json:"account"`
	Terms
	GraceEnds time.Time `json:"graceEnds"`
	At        time.Time `json:"at"`
}

// Lapsed records that the grace ended without a payment.
type Lapsed struct {
	Account      string    `json:"account"`
	Subscription string    `json:"subscription"`
	At           time.Time `json:"at"`
}

// Ended records that the subscription no longer grants a plan: Status is canceled, unpaid, paused or
// incomplete_expired.
type Ended struct {
	Account string `json:"account"`
	Terms
	EndedAt time.Time `json:"endedAt"`
	At      time.Time `json:"at"`
}

// CardChanged records the card that pays. Brand and Last4 are sealed with the account's key, for SealedForCard. Without
// a payment method the card was removed.
type CardChanged struct {
	Account       string    `json:"account"`
	PaymentMethod string    `json:"paymentMethod"`
	Brand         []byte    `json:"brand"`
	Last4         []byte    `json:"last4"`
	At            time.Time `json:"at"`
}

// InvoiceRecorded records an invoice as it is now. Page and PDF are addresses, sealed with the account's key for
// SealedForInvoice; empty where there is none.
type InvoiceRecorded struct {
	Account      string    `json:"account"`
	Invoice      string    `json:"invoice"`
	Subscription string    `json:"subscription,omitempty"`
	Number       string    `json:"number,omitempty"`
	Status       string    `json:"status"`
	AmountDue    int64     `json:"amountDue"`
	AmountPaid   int64     `json:"amountPaid"`
	Currency     string    `json:"currency"`
	Page         []byte    `json:"page"`
	PDF          []byte    `json:"pdf"`
	CreatedAt    time.Time `json:"createdAt"`
	At           time.Time `json:"at"`
}

// PaymentFailed records that an invoice could not be collected.
type PaymentFailed struct {
	Account  string    `json:"account"`
	Invoice  string    `json:"invoice"`
	Attempts int64     `json:"attempts"`
	At       time.Time `json:"at"`
}

// InvoiceRefunded records the total that was paid back of an invoice.
type InvoiceRefunded struct {
	Account  string    `json:"account"`
	Invoice  string    `json:"invoice"`
	Refunded int64     `json:"refunded"`
	Currency string    `json:"currency"`
	At       time.Time `json:"at"`
}

// InvoiceDisputed records whether the payment of an invoice is disputed, and the state of the dispute.
type InvoiceDisputed struct {
	Account  string    `json:"account"`
	Invoice  string    `json:"invoice"`
	Disputed bool      `json:"disputed"`
	Dispute  string    `json:"dispute,omitempty"` // open, won or lost
	Amount   int64     `json:"amount,omitempty"`
	Currency string    `json:"currency,omitempty"`
	EndsPlan bool      `json:"endsPlan,omitempty"` // by the operator's rule all subscriptions end with this loss
	At       time.Time `json:"at"`
}

// Collected records that, after a subscription was paid, the outstanding amount was charged to its card, which may have
// been declined, or that, after a subscription ended, a rest that is too small for an invoice was recorded as lost.
type Collected struct {
	Account string    `json:"account"`
	Event   string    `json:"event"` // id of the event that recorded the payment, or the end
	At      time.Time `json:"at"`
}

// LossReason is the reason why an amount is not collected.
type LossReason string

// The reasons of losses.
const (
	BelowMinimum  LossReason = "below-minimum" // the provider does not charge so little, and there is no later invoice
	Voided        LossReason = "voided"        // its invoice is void, for example the unpaid first one of a subscription
	Uncollectible LossReason = "uncollectible" // the invoice of an account that was closed was not paid
	NoCustomer    LossReason = "no-customer"   // the provider no longer has the customer
)

// Lost records that an amount is owed and will not be collected. It is recorded once for each object.
type Lost struct {
	Account    string     `json:"account"`
	Object     string     `json:"object"` // the provider's invoice, or the usage without an invoice
	Reason     LossReason `json:"reason"`
	Characters int64      `json:"characters"` // past a plan; 0 if unknown
	Amount     int64      `json:"amount"`
	Currency   string     `json:"currency"`
	At         time.Time  `json:"at"`
}

// Entitled records the plan that the subscription gives the account from then on. The account's stream follows the last
// event of this type, by its revision in this stream.
type Entitled struct {
	Account string `json:"account"`
	plan.Entitlement
	At time.Time `json:"at"`
}

// Purposes for which the fields of a subscription are sealed.
const (
	SealedForCard    = "billing/card"
	SealedForInvoice = "billing/invoice"
)

func (Requested) subscriptionEvent()              {}
func (Agreed) subscriptionEvent()                 {}
func (Refused) subscriptionEvent()                {}
func (CustomerCreated) subscriptionEvent()        {}
func (CustomerDeleted) subscriptionEvent()        {}
func (Created) subscriptionEvent()                {}
func (Activated) subscriptionEvent()              {}
func (Renewed) subscriptionEvent()                {}
func (PlanChanged) subscriptionEvent()            {}
func (ChangeScheduled) subscriptionEvent()        {}
func (ScheduledChangeDropped) subscriptionEvent() {}
func (ChangePending) subscriptionEvent()          {}
func (PendingChangeEnded) subscriptionEvent()     {}
func (CancellationScheduled) subscriptionEvent()  {}
func (CancellationWithdrawn) subscriptionEvent()  {}
func (FellDue) subscriptionEvent()                {}
func (Lapsed) subscriptionEvent()                 {}
func (Ended) subscriptionEvent()                  {}
func (CardChanged) subscriptionEvent()            {}
func (InvoiceRecorded) subscriptionEvent()        {}
func (PaymentFailed) subscriptionEvent()          {}
func (InvoiceRefunded) subscriptionEvent()        {}
func (InvoiceDisputed) subscriptionEvent()        {}
func (Collected) subscriptionEvent()              {}
func (Lost) subscriptionEvent()                   {}
func (Entitled) subscriptionEvent()               {}
