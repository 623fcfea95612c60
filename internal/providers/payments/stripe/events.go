package stripe

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/http"
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
				if !yield(event(e), nil) {
					return
				}
			}
		}
	}
}

// eventsBetween returns the events from a time on and before another one, newest first, as the provider lists them.
func (g *Gateway) eventsBetween(ctx context.Context, from, until time.Time) ([]*stripe.Event, error) {
	params := &stripe.EventListParams{
		ListParams: pages, CreatedRange: &stripe.RangeQueryParams{GreaterThanOrEqual: from.Unix(), LesserThan: until.Unix()},
	}
	return list(ctx, g, g.api.V1Events.List(ctx, params), all, func(*stripe.Event) bool { return true })
}

func event(e *stripe.Event) payments.Event {
	object := objectOf(e)
	return payments.Event{
		ID: e.ID, Type: string(e.Type), Object: object.ID, Customer: object.owner(), CreatedAt: at(e.Created),
	}
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

// places are where the objects of events are found, by the beginning of the events' types, with what has to be expanded
// to find their customer. Other objects belong to nobody.
var places = []place{
	{"customer.subscription.", "/v1/subscriptions/%s", ""},
	{"subscription_schedule.", "/v1/subscription_schedules/%s", ""},
	{"invoice.", "/v1/invoices/%s", ""},
	{"invoice_payment.", "/v1/invoice_payments/%s", "invoice"},
	{"payment_method.", "/v1/payment_methods/%s", ""},
	{"charge.dispute.", "/v1/disputes/%s", "charge"},
	{"refund.", "/v1/refunds/%s", "charge"},
	{"charge.refund.", "/v1/refunds/%s", "charge"},
}

type place struct{ kind, path, expand string }

// owned is an object that belongs to a customer, itself or by what it is about.
type owned struct {
	stripe.APIResource
	Customer reference `json:"customer"`
	Invoice  belonging `json:"invoice"`
	Charge   belonging `json:"charge"`
}

// belonging is what an object belongs to. It is empty for an object of which only the id was sent.
type belonging struct {
	Customer reference `json:"customer"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *belonging) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(data, []byte("{")) {
		return nil
	}
	type plain belonging
	return json.Unmarshal(data, (*plain)(b))
}

// expansion has the provider send objects in place of their ids.
type expansion struct {
	stripe.Params `form:"*"`
	Expand        []*string `form:"expand"`
}

// CustomerOf implements payments.Gateway.
func (g *Gateway) CustomerOf(ctx context.Context, e payments.Event) (string, error) {
	at := slices.IndexFunc(places, func(p place) bool { return strings.HasPrefix(e.Type, p.kind) })
	if e.Customer != "" || at < 0 {
		return e.Customer, nil
	}
	params := &expansion{Params: stripe.Params{Context: ctx}}
	if expand := places[at].expand; expand != "" {
		params.Expand = stripe.StringSlice([]string{expand})
	}
	object, err := read(ctx, g, func() (*owned, error) {
		var object owned
		err := g.backend.Call(http.MethodGet, stripe.FormatURLPath(places[at].path, e.Object), g.key, params, &object)
		return &object, err
	})
	if err != nil {
		return "", err
	}
	return string(cmp.Or(object.Customer, object.Invoice.Customer, object.Charge.Customer)), nil
}
