package subscription

import (
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/catalogue"
)

// Request is a request of an account's owner to the provider. It is recorded before the provider is called.
type Request struct {
	Account       string
	Request       string // its id
	Kind          Kind
	Price         string // to subscribe at, or to change to
	PaymentMethod string
	Coupon        string // of the first subscription of an account; "" for none
	domain.Repetition
	Catalogue catalogue.State
	At        time.Time
}

// Errors of requests that are refused.
var (
	ErrUnderway   = domain.Refuse(domain.Conflict, "Another change of the subscription is under way")
	ErrClosed     = domain.Refuse(domain.Unauthenticated, "The account is closed")
	ErrSubscribed = domain.Refuse(domain.Rejected, "There is a subscription already: change its plan instead")
	ErrNone       = domain.Refuse(domain.Rejected, "There is no active subscription")
	ErrDue        = domain.Refuse(domain.Rejected, "A payment of the subscription is missing: replace the card first")
	ErrSamePrice  = domain.Refuse(domain.Rejected, "The subscription has this price already")
	ErrSameAmount = domain.Refuse(domain.Rejected, "The plan costs the same: it is neither an upgrade nor a downgrade")
	ErrCurrency   = domain.Refuse(domain.Rejected, "A subscription keeps its currency")
	ErrCancelled  = domain.Refuse(domain.Rejected, "The subscription is cancelled: withdraw the cancellation first")
	ErrUncanceled = domain.Refuse(domain.Rejected, "The subscription is not cancelled")
	ErrScheduled  = domain.Refuse(domain.Rejected, "No change is scheduled")
	ErrNoPrice    = domain.Refuse(domain.NotFound, "There is no such price")
	ErrWithdrawn  = domain.Refuse(domain.Invalid, "The price is not on sale any more")
	ErrNoCard     = domain.Refuse(domain.NotFound, "There is no such payment method")
)

// Decide returns no event for a repetition of a request that is open or was answered: Repeated returns that request.
// It refuses a request that the subscription does not permit.
func (c Request) Decide(s State) ([]Event, error) {
	known, err := c.Repeated(s)
	if err != nil || known != "" {
		return nil, err
	}
	switch {
	case s.Ending && c.Kind != End && c.Kind != EndDisputed:
		return nil, ErrClosed
	case s.Open != nil:
		return nil, ErrUnderway
	}
	requested := Requested{
		Account: c.Account, Request: c.Request, Kind: c.Kind, Price: c.Price, PaymentMethod: c.PaymentMethod,
		Repetition: c.Repetition, At: c.At,
	}
	if err := c.permit(s, &requested); err != nil {
		return nil, err
	}
	return []Event{requested}, nil
}

// Repeated returns the id of the request that this one repeats, or "" for a new one: the request with the same
// Idempotency-Key or, without a key, the open request for the same change.
func (c Request) Repeated(s State) (string, error) {
	if s.Open != nil {
		repeats, err := c.repeats(*s.Open, c.At) // an open request is remembered at any age
		if repeats || err != nil || c.wantsWithoutKey(*s.Open) {
			return s.Open.Request, err
		}
	}
	for _, a := range s.Answered {
		if repeats, err := c.repeats(a.Requested, a.At); repeats || err != nil {
			return a.Request, err
		}
	}
	return "", nil
}

func (c Request) repeats(earlier Requested, at time.Time) (bool, error) {
	if c.Request == earlier.Request {
		return true, nil
	}
	return c.Repeats(earlier.Repetition, at, c.At)
}

func (c Request) wantsWithoutKey(open Requested) bool {
	return c.Key == "" && open.Key == "" && c.Kind == open.Kind && c.Price == open.Price &&
		c.PaymentMethod == open.PaymentMethod
}

// permit refuses a request that the subscription does not permit, and completes the others.
func (c Request) permit(s State, wanted *Requested) error {
	switch c.Kind {
	case Subscribe:
		return c.subscribe(s, wanted)
	case SetupCard, End, EndDisputed:
		return nil
	case ReplaceCard:
		if s.Customer == "" { // the account has set up no card
			return ErrNoCard
		}
		return nil
	}
	current, found := s.Current()
	if !found {
		return ErrNone
	}
	wanted.Subscription = current.Subscription
	switch c.Kind {
	case ChangePlan:
		return c.changePlan(current, wanted)
	case DropScheduledChange:
		return refuseIf(current.Scheduled == nil, ErrScheduled)
	case Cancel:
		return refuseIf(!current.CancelAt.IsZero(), ErrCancelled)
	case Uncancel:
		return refuseIf(current.CancelAt.IsZero(), ErrUncanceled)
	}
	return domain.Refuse(domain.Invalid, "Unknown request")
}

func refuseIf(condition bool, refusal error) error {
	if condition {
		return refusal
	}
	return nil
}

func (c Request) subscribe(s State, wanted *Requested) error {
	if _, found := s.Current(); found {
		return ErrSubscribed
	}
	price, err := c.onSale()
	if err != nil {
		return err
	}
	wanted.Plan = price.Plan
	if !s.Bought {
		wanted.Coupon = c.Coupon
	}
	return nil
}

func (c Request) changePlan(current Subscription, wanted *Requested) error {
	price, err := c.onSale()
	if err != nil {
		return err
	}
	former, known := c.Catalogue.Find(current.Price)
	switch {
	case current.Price == c.Price:
		return ErrSamePrice
	case current.Status == "past_due":
		return ErrDue
	case !current.CancelAt.IsZero():
		return ErrCancelled
	case known && former.Currency != price.Currency:
		return ErrCurrency
	case known && former.Amount == price.Amount:
		return ErrSameAmount
	}
	wanted.Plan, wanted.Downgrade = price.Plan, price.Amount < former.Amount
	if current.Pending != nil && !wanted.Downgrade {
		wanted.Replaces = current.Pending.Invoice
	}
	return nil
}

// onSale returns the requested price.
func (c Request) onSale() (catalogue.Price, error) {
	listed, found := c.Catalogue.Find(c.Price)
	switch {
	case !found:
		return catalogue.Price{}, ErrNoPrice
	case !listed.OnSale:
		return catalogue.Price{}, ErrWithdrawn
	}
	return listed.Price, nil
}
