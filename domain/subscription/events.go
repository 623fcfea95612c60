// Package subscription is the aggregate of stream subscription-<account>: what an account's owner wants of the payment
// provider, and what the provider has for the account. The owner's wishes are recorded before the provider is called;
// everything else is recorded as the provider says it, so that it does not matter in which order, how often or whether
// its notices come. Amounts are integers in minor units of the currency beside them.
package subscription

import (
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/plan"
)

// StreamPrefix is that of the streams of subscriptions: what follows it is the account's id.
const StreamPrefix = "subscription-"

// Stream is where the subscription of an account is kept.
func Stream(account string) string { return StreamPrefix + account }

// Event is one of the events below.
type Event interface{ subscriptionEvent() }

// Kind is what an account's owner wants.
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
	End                 Kind = "end"          // the account was closed
	EndDisputed         Kind = "end-disputed" // a dispute was lost: nothing goes on, and another subscription may come
)

// Requested records what is wanted of the provider, before the provider is called: Request is the id by which the
// provider recognises a repetition.
type Requested struct {
	Account       string    `json:"account"`
	Request       string    `json:"request"`
	Kind          Kind      `json:"kind"`
	Price         string    `json:"price,omitempty"`
	Plan          plan.Type `json:"plan,omitempty"` // of the price
	Downgrade     bool      `json:"downgrade,omitempty"`
	Subscription  string    `json:"subscription,omitempty"` // that it changes
	PaymentMethod string    `json:"paymentMethod,omitempty"`
	Coupon        string    `json:"coupon,omitempty"`
	Replaces      string    `json:"replaces,omitempty"` // invoice of the pending change that is dropped for it
	domain.Repetition
	At time.Time `json:"at"`
}

// Agreed ends a request that the provider has carried out.
type Agreed struct {
	Account     string    `json:"account"`
	Request     string    `json:"request"`
	Object      string    `json:"object,omitempty"`     // the subscription or the set-up that it made
	EffectiveAt time.Time `json:"effectiveAt,omitzero"` // of a change or a cancellation
	First       *First    `json:"first,omitempty"`      // of a new subscription
	At          time.Time `json:"at"`
}

// First is the first invoice of a subscription, as a repetition of its request is answered.
type First struct {
	Invoice  string `json:"invoice"`
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
	Discount string `json:"discount,omitempty"` // its name; "" for none
	Reduces  string `json:"reduces,omitempty"`  // what the discount gives, in words
}

// Reason is why a request was refused.
type Reason string

// The reasons.
const (
	Declined    Reason = "declined"    // the card was
	Unconfirmed Reason = "unconfirmed" // the card's owner has to confirm the payment
	NotThere    Reason = "not-there"   // the provider does not know what it is about
	Forbidden   Reason = "forbidden"   // the provider does not permit it
)

// Refused ends a request that the provider has refused. After Unconfirmed the change is pending, and is made when the
// invoice is paid.
type Refused struct {
	Account string    `json:"account"`
	Request string    `json:"request"`
	Reason  Reason    `json:"reason"`
	Decline string    `json:"decline,omitempty"` // why the card was declined, by the card's issuer
	Invoice string    `json:"invoice,omitempty"` // to be confirmed
	At      time.Time `json:"at"`
}

// CustomerCreated names the customer that the account is at the provider.
type CustomerCreated struct {
	Account  string    `json:"account"`
	Customer string    `json:"customer"`
	At       time.Time `json:"at"`
}

// CustomerDeleted records that the provider has forgotten the customer: another one is created when it is needed.
type CustomerDeleted struct {
	Account  string    `json:"account"`
	Customer string    `json:"customer"`
	At       time.Time `json:"at"`
}

// Terms are what a subscription is about at a moment.
type Terms struct {
	Subscription string    `json:"subscription"`
	Price        string    `json:"price"`
	Plan         plan.Type `json:"plan"`
	Status       string    `json:"status"` // the provider's
	PeriodStart  time.Time `json:"periodStart"`
	PeriodEnd    time.Time `json:"periodEnd"`
	Anchor       time.Time `json:"anchor"` // from which the periods count by months
}

// Created records a subscription that waits for its first payment, or for nothing.
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

// PlanChanged records another price, which may come with another period.
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

// ScheduledChangeDropped records that no change is scheduled any more, because it was dropped or took effect.
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

// PendingChangeEnded records that no change is pending any more, because it was made, or has lapsed.
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

// CancellationWithdrawn records that the subscription goes on.
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

// Lapsed records that nothing was paid until the end of the grace.
type Lapsed struct {
	Account      string    `json:"account"`
	Subscription string    `json:"subscription"`
	At           time.Time `json:"at"`
}

// Ended records that the subscription grants nothing any more: Status is canceled, unpaid, paused or
// incomplete_expired.
type Ended struct {
	Account string `json:"account"`
	Terms
	EndedAt time.Time `json:"endedAt"`
	At      time.Time `json:"at"`
}

// CardChanged records the card that pays. Brand and Last4 are sealed with the account's key, for SealedForCard; without
// a payment method there is no card any more.
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

// InvoiceRefunded records how much of an invoice was paid back, in all.
type InvoiceRefunded struct {
	Account  string    `json:"account"`
	Invoice  string    `json:"invoice"`
	Refunded int64     `json:"refunded"`
	Currency string    `json:"currency"`
	At       time.Time `json:"at"`
}

// InvoiceDisputed records that the payment of an invoice is disputed, or is not any more, and how the dispute stands.
type InvoiceDisputed struct {
	Account  string    `json:"account"`
	Invoice  string    `json:"invoice"`
	Disputed bool      `json:"disputed"`
	Dispute  string    `json:"dispute,omitempty"` // open, won or lost
	Amount   int64     `json:"amount,omitempty"`
	Currency string    `json:"currency,omitempty"`
	EndsPlan bool      `json:"endsPlan,omitempty"` // the operator's rule is that nothing goes on after this loss
	At       time.Time `json:"at"`
}

// Collected records that what was owed when a subscription was paid was charged to its card, which may have been
// declined, or that what was left when it had ended, and is too little for an invoice, was recorded as lost.
type Collected struct {
	Account string    `json:"account"`
	Event   string    `json:"event"` // id of the event that recorded the payment, or the end
	At      time.Time `json:"at"`
}

// LossReason is why an amount is not collected.
type LossReason string

// The reasons of losses.
const (
	BelowMinimum  LossReason = "below-minimum" // the provider charges no such amount, and no other invoice comes
	Voided        LossReason = "voided"        // its invoice is void, for example the unpaid first one of a subscription
	Uncollectible LossReason = "uncollectible" // the invoice of an account that was closed was not paid
	NoCustomer    LossReason = "no-customer"   // the provider has forgotten whom to charge
)

// Lost records that an amount is owed and will not be collected. It is recorded once for each object.
type Lost struct {
	Account    string     `json:"account"`
	Object     string     `json:"object"` // the provider's invoice, or the usage that no invoice has
	Reason     LossReason `json:"reason"`
	Characters int64      `json:"characters"` // past a plan that the amount is for, as far as they are known
	Amount     int64      `json:"amount"`
	Currency   string     `json:"currency"`
	At         time.Time  `json:"at"`
}

// Entitled records the plan that the subscription gives the account from then on. The account's stream follows it; what
// it follows is the last event of this type, by its revision in this stream.
type Entitled struct {
	Account string `json:"account"`
	plan.Entitlement
	At time.Time `json:"at"`
}

// What the fields of a subscription are sealed for.
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
