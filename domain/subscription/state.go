package subscription

import (
	"slices"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/plan"
)

// Bounds of the state. Fewer objects are read from the provider, so that each of them is still in the state.
const (
	maxSubscriptions = 40
	maxInvoices      = 200
	maxRequests      = 100
)

// State is the state on which an account's subscription is decided. The zero State is an account without a request.
type State struct {
	Facts

	SinceSnapshot int // events
}

// Facts are the part of the state that snapshots repeat.
type Facts struct {
	Account  string `json:"account"`
	Customer string `json:"customer"` // "" before its creation
	// Open is the request that the provider has not answered yet.
	Open *Requested `json:"open"`
	// Answered are the requests that have ended in the last 24 hours.
	Answered      []Answered           `json:"answered"`
	Subscriptions []Subscription       `json:"subscriptions"` // oldest first
	Card          *Card                `json:"card"`
	Invoices      []Invoice            `json:"invoices"`   // oldest first
	Entitled      *plan.Entitlement    `json:"entitled"`   // the last event's
	LastPrices    map[plan.Type]string `json:"lastPrices"` // at which each plan was last bought, or is scheduled
	Bought        bool                 `json:"bought"`     // the account has ever paid for a subscription
	Lost          []string             `json:"lost"`       // the objects of recent losses
	Ending        bool                 `json:"ending"`     // the account was closed: all subscriptions end
}

// Subscription is a subscription in the state.
type Subscription struct {
	Terms
	CancelAt  time.Time `json:"cancelAt,omitzero"`
	Scheduled *Change   `json:"scheduled"`
	Pending   *Pending  `json:"pending,omitempty"`
	GraceEnds time.Time `json:"graceEnds,omitzero"` // while past due
	Lapsed    bool      `json:"lapsed"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
	Ran       bool      `json:"ran"` // it has granted a plan

	Supersedes bool `json:"supersedes,omitempty"` // Pending was requested after Scheduled, and replaces it
	Superseded bool `json:"superseded,omitempty"` // Scheduled is to be dropped because a later pending change was made
}

// Change is a change of the price that takes effect later.
type Change struct {
	Price       string    `json:"price"`
	Plan        plan.Type `json:"plan"`
	EffectiveAt time.Time `json:"effectiveAt"`
}

// Pending is a change of the price that is made when its invoice is paid.
type Pending struct {
	Price     string    `json:"price"`
	Plan      plan.Type `json:"plan"`
	Invoice   string    `json:"invoice"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// Card is a card that pays, sealed as in CardChanged.
type Card struct {
	PaymentMethod string `json:"paymentMethod"`
	Brand         []byte `json:"brand"`
	Last4         []byte `json:"last4"`
}

// Invoice is an invoice in the state: the fields that are compared with the provider's.
type Invoice struct {
	ID           string    `json:"id"`
	Subscription string    `json:"subscription"`
	Number       string    `json:"number"`
	Status       string    `json:"status"`
	AmountDue    int64     `json:"amountDue"`
	AmountPaid   int64     `json:"amountPaid"`
	Currency     string    `json:"currency"`
	HasPage      bool      `json:"hasPage"`
	HasPDF       bool      `json:"hasPdf"`
	CreatedAt    time.Time `json:"createdAt"`
	Refunded     int64     `json:"refunded"`
	Disputed     bool      `json:"disputed"`
	Dispute      string    `json:"dispute,omitempty"`
	DisputedSum  int64     `json:"disputedSum,omitempty"`
	Failures     int64     `json:"failures"` // attempts to collect it, as of the last failure
}

// Answered is a request that has ended.
type Answered struct {
	Requested
	Object      string    `json:"object"`
	EffectiveAt time.Time `json:"effectiveAt,omitzero"`
	First       *First    `json:"first,omitempty"`
	Reason      Reason    `json:"reason"` // "" if it was agreed
	Decline     string    `json:"decline,omitempty"`
	Invoice     string    `json:"invoice,omitempty"`
	EndedAt     time.Time `json:"endedAt"`
}

// Answer returns the outcome of a request, and whether it is known.
func (s State) Answer(request string) (Answered, bool) {
	return domain.First(s.Answered, func(a Answered) bool { return a.Request == request })
}

// Find returns a subscription.
func (s State) Find(id string) (Subscription, bool) {
	return domain.First(s.Subscriptions, func(known Subscription) bool { return known.Subscription == id })
}

func (s State) index(id string) int {
	return slices.IndexFunc(s.Subscriptions, func(known Subscription) bool { return known.Subscription == id })
}

// Current returns the current subscription: the newest one that was paid and has not ended.
func (s State) Current() (Subscription, bool) {
	for _, known := range slices.Backward(s.Subscriptions) {
		if entitles(known.Status) {
			return known, true
		}
	}
	return Subscription{}, false
}

// Others returns the other subscriptions that are paid and have not ended.
func (s State) Others() (ids []string) {
	current, _ := s.Current()
	for _, known := range s.Subscriptions {
		if entitles(known.Status) && known.Subscription != current.Subscription {
			ids = append(ids, known.Subscription)
		}
	}
	return ids
}

// Payer returns the subscription with the invoices that the account pays or last paid, or "" if there was none.
func (s State) Payer() string {
	if current, found := s.Current(); found {
		return current.Subscription
	}
	for _, known := range slices.Backward(s.Subscriptions) {
		if known.Ran {
			return known.Subscription
		}
	}
	return ""
}

// Leftovers returns the subscriptions that must end before a new one begins. They wait for a first payment at another
// price, or are no longer paid.
func (s State) Leftovers(price string) (ids []string) {
	for _, known := range s.Subscriptions {
		unpaid := phaseOf(known.Status) == waiting && known.Price != price
		if unpaid || known.Status == "unpaid" || known.Status == "paused" {
			ids = append(ids, known.Subscription)
		}
	}
	return ids
}

// Waiting returns the newest subscription at a price that waits for its first payment.
func (s State) Waiting(price string) (Subscription, bool) {
	for _, known := range slices.Backward(s.Subscriptions) {
		if phaseOf(known.Status) == waiting && known.Price == price {
			return known, true
		}
	}
	return Subscription{}, false
}

// Superseded returns the subscriptions whose scheduled change is to be dropped, because a later change was made.
func (s State) Superseded() (ids []string) {
	for _, known := range s.Subscriptions {
		if known.Superseded {
			ids = append(ids, known.Subscription)
		}
	}
	return ids
}

// Unfinished returns the subscriptions that could still charge the account.
func (s State) Unfinished() (ids []string) {
	for _, known := range s.Subscriptions {
		if known.Status != "canceled" && known.Status != "incomplete_expired" {
			ids = append(ids, known.Subscription)
		}
	}
	return ids
}

// phase is the meaning of a status.
type phase int

const (
	waiting phase = iota // for the first payment
	running
	due  // a payment is missing
	over // no longer grants a plan
)

func phaseOf(status string) phase {
	switch status {
	case "incomplete":
		return waiting
	case "active", "trialing":
		return running
	case "past_due":
		return due
	}
	return over
}

// entitles reports whether a subscription of a status grants its plan.
func entitles(status string) bool { return phaseOf(status) == running || phaseOf(status) == due }

// PriceOf returns the last price at which a plan was bought or scheduled, or "" if there is none.
func (s State) PriceOf(bought plan.Type) string { return s.LastPrices[bought] }
