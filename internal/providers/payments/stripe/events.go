package stripe

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/internal/providers/payments"
)

const (
	// eventsKept is for how long the provider keeps events, and a day.
	eventsKept = 31 * 24 * time.Hour
	// eventsAtOnce is the time whose events are in memory at once.
	eventsAtOnce = 24 * time.Hour
)

// Events implements payments.Gateway. The provider lists the newest first, so a day of them is read at once.
func (g *Gateway) Events(ctx context.Context, since time.Time) iter.Seq2[payments.Event, error] {
	return func(yield func(payments.Event, error) bool) {
		now := g.now()
		if oldest := now.Add(-eventsKept); since.Before(oldest) {
			since = oldest
		}
		for from := since; !from.After(now); from = from.Add(eventsAtOnce) {
			newestFirst, err := g.eventsBetween(ctx, from, from.Add(eventsAtOnce))
			if err != nil {
				yield(payments.Event{}, err)
				return
			}
			for _, e := range slices.Backward(newestFirst) {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// eventsBetween returns the events from a time on and before another one, newest first, as the provider lists them.
func (g *Gateway) eventsBetween(ctx context.Context, from, until time.Time) ([]payments.Event, error) {
	params := &stripe.EventListParams{CreatedRange: &stripe.RangeQueryParams{GreaterThanOrEqual: from.Unix(), LesserThan: until.Unix()}}
	params.Limit = stripe.Int64(100)
	return list(ctx, g, g.api.V1Events.List(ctx, params), func(e *stripe.Event) (payments.Event, bool) { return event(e), true }, nil)
}

func event(e *stripe.Event) payments.Event {
	object := objectOf(e)
	return payments.Event{ID: e.ID, Type: string(e.Type), Object: object.ID, Customer: object.owner(), CreatedAt: at(e.Created)}
}

// reference is the id of an object, wherever the provider has written the whole object.
type reference string

// UnmarshalJSON implements json.Unmarshaler.
func (r *reference) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("{")) {
		var whole struct {
			ID string `json:"id"`
		}
		err := json.Unmarshal(data, &whole)
		*r = reference(whole.ID)
		return err
	}
	return json.Unmarshal(data, (*string)(r))
}

// object is what is read of an event's.
type object struct {
	ID       string    `json:"id"`
	Object   string    `json:"object"`
	Customer reference `json:"customer"`
	before   reference // the customer that it belonged to
}

// objectOf reads nothing else of an event: only this is the same in all versions of the API.
func objectOf(e *stripe.Event) object {
	var o object
	if e.Data == nil || json.Unmarshal(e.Data.Raw, &o) != nil {
		return object{}
	}
	if before, ok := e.Data.PreviousAttributes["customer"].(string); ok {
		o.before = reference(before)
	}
	return o
}

func (o object) owner() string {
	switch {
	case o.Object == "customer":
		return o.ID
	case o.Customer != "":
		return string(o.Customer)
	}
	return string(o.before)
}

// CustomerOf implements payments.Gateway.
func (g *Gateway) CustomerOf(ctx context.Context, e payments.Event) (customer string, err error) {
	find := g.finder(ctx, e)
	if e.Customer != "" || find == nil {
		return e.Customer, nil
	}
	err = g.ask(ctx, func() error {
		owner, err := find(e.Object)
		if err == nil && owner != nil {
			customer = owner.ID
		}
		return err
	})
	return customer, err
}

// finder returns how the customer of an event's object is found, nil for objects that belong to nobody.
func (g *Gateway) finder(ctx context.Context, e payments.Event) func(id string) (*stripe.Customer, error) {
	switch kind := e.Type; {
	case strings.HasPrefix(kind, "customer.subscription."):
		return func(id string) (*stripe.Customer, error) {
			s, err := g.api.V1Subscriptions.Retrieve(ctx, id, nil)
			return ownerOf(s, err, func(s *stripe.Subscription) *stripe.Customer { return s.Customer })
		}
	case strings.HasPrefix(kind, "subscription_schedule."):
		return func(id string) (*stripe.Customer, error) {
			s, err := g.api.V1SubscriptionSchedules.Retrieve(ctx, id, nil)
			return ownerOf(s, err, func(s *stripe.SubscriptionSchedule) *stripe.Customer { return s.Customer })
		}
	case strings.HasPrefix(kind, "invoice."):
		return func(id string) (*stripe.Customer, error) {
			i, err := g.api.V1Invoices.Retrieve(ctx, id, nil)
			return ownerOf(i, err, func(i *stripe.Invoice) *stripe.Customer { return i.Customer })
		}
	case strings.HasPrefix(kind, "invoice_payment."):
		return func(id string) (*stripe.Customer, error) {
			params := &stripe.InvoicePaymentRetrieveParams{Expand: stripe.StringSlice([]string{"invoice"})}
			p, err := g.api.V1InvoicePayments.Retrieve(ctx, id, params)
			return ownerOf(p, err, func(p *stripe.InvoicePayment) *stripe.Customer { return p.Invoice.Customer })
		}
	case strings.HasPrefix(kind, "payment_method."):
		return func(id string) (*stripe.Customer, error) {
			m, err := g.api.V1PaymentMethods.Retrieve(ctx, id, nil)
			return ownerOf(m, err, func(m *stripe.PaymentMethod) *stripe.Customer { return m.Customer })
		}
	case strings.HasPrefix(kind, "charge.dispute."):
		return func(id string) (*stripe.Customer, error) {
			params := &stripe.DisputeRetrieveParams{Expand: stripe.StringSlice([]string{"charge"})}
			d, err := g.api.V1Disputes.Retrieve(ctx, id, params)
			return ownerOf(d, err, func(d *stripe.Dispute) *stripe.Customer { return d.Charge.Customer })
		}
	case strings.HasPrefix(kind, "refund."), strings.HasPrefix(kind, "charge.refund."):
		return func(id string) (*stripe.Customer, error) {
			params := &stripe.RefundRetrieveParams{Expand: stripe.StringSlice([]string{"charge"})}
			r, err := g.api.V1Refunds.Retrieve(ctx, id, params)
			return ownerOf(r, err, func(r *stripe.Refund) *stripe.Customer {
				if r.Charge == nil {
					return nil
				}
				return r.Charge.Customer
			})
		}
	}
	return nil
}

func ownerOf[T any](of T, err error, owner func(T) *stripe.Customer) (*stripe.Customer, error) {
	if err != nil {
		return nil, err
	}
	return owner(of), nil
}
