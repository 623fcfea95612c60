package stripe

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v84"
	"github.com/stripe/stripe-go/v84/webhook"

	"github.com/recital-tts/recital/internal/providers/payments"
)

const (
	// eventsKept is the time for which the provider keeps events, plus a day.
	eventsKept = 31 * 24 * time.Hour
	// eventsAtOnce is the time span of the events in memory.
	eventsAtOnce = 24 * time.Hour
)

// Events implements payments.Gateway. The provider lists the newest first, so each day is read as a whole.
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
	listed := payments.Event{ID: e.ID, Type: string(e.Type), CreatedAt: at(e.Created)}
	if e.Data != nil {
		before, _ := e.Data.PreviousAttributes["customer"].(string)
		listed.Object, listed.Customer = objectOf(e.Data.Raw, before)
	}
	return listed
}

// reference is the id of an object. It also parses a whole object.
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

// objectOf returns the id and the customer of an event's object, or else its previous customer. It reads only fields
// that are the same in all versions of the API.
func objectOf(raw []byte, before string) (id, customer string) {
	var o struct {
		ID       string    `json:"id"`
		Object   string    `json:"object"`
		Customer reference `json:"customer"`
	}
	switch {
	case json.Unmarshal(raw, &o) != nil:
		return "", ""
	case o.Object == "customer":
		return o.ID, o.ID
	}
	return o.ID, cmp.Or(string(o.Customer), before)
}

// places lists the addresses of events' objects by the prefixes of the events' types, with the field to expand for
// their customer. Other objects belong to no customer.
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

// owned is an object that belongs to a customer, directly or through another object.
type owned struct {
	stripe.APIResource
	Customer reference `json:"customer"`
	Invoice  belonging `json:"invoice"`
	Charge   belonging `json:"charge"`
}

// belonging is the owner of an object. It is empty for an object that was sent only as an id.
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

// expansion makes the provider send objects in place of their ids.
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

// Notices implements payments.Notice.
type Notices struct{ secrets []string }

// NewNotices returns a verifier of notices signed with any of the secrets. There are two while one is being replaced.
func NewNotices(secrets ...string) (*Notices, error) {
	if len(secrets) == 0 {
		return nil, errors.New("there is no secret of notices")
	}
	for _, secret := range secrets {
		if strings.TrimSpace(secret) == "" {
			return nil, errors.New("a secret of notices is empty, so that anybody could sign with it")
		}
	}
	return &Notices{secrets: secrets}, nil
}

// Verify implements payments.Notice. A notice signed more than five minutes before or after now counts as forged. An
// endpoint has the API version from its creation, but the used fields of a notice are the same in all versions.
func (n *Notices) Verify(body []byte, signature string, now time.Time) (payments.Event, error) {
	signed, ok := signedAt(signature)
	if !ok || now.Sub(signed).Abs() > webhook.DefaultTolerance {
		return payments.Event{}, payments.ErrForged
	}
	for _, secret := range n.secrets {
		if webhook.ValidatePayloadIgnoringTolerance(body, signature, secret) == nil {
			return noticed(body, signed)
		}
	}
	return payments.Event{}, payments.ErrForged
}

// earliest is the earliest possible time of an event, in Unix seconds: the year 2000.
const earliest = 946_684_800

// notice is the part of a notice that is used. The library's type would decode the whole object, three times.
type notice struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Type    string `json:"type"`
	Version string `json:"api_version"`
	Created int64  `json:"created"`
	Data    struct {
		Object json.RawMessage `json:"object"`
		Before json.RawMessage `json:"previous_attributes"`
	} `json:"data"`
}

// noticed returns the event of a verified notice. An impossible time is replaced by the signature's.
func noticed(body []byte, signed time.Time) (payments.Event, error) {
	var n notice
	if json.Unmarshal(body, &n) != nil || n.Object != "event" || n.ID == "" || n.Type == "" {
		return payments.Event{}, payments.ErrMalformed
	}
	_, before := objectOf(n.Data.Before, "")
	e := payments.Event{
		ID: n.ID, Type: n.Type, CreatedAt: at(n.Created), OtherVersion: train(n.Version) != train(stripe.APIVersion),
	}
	e.Object, e.Customer = objectOf(n.Data.Object, before)
	if n.Created < earliest || n.Created > signed.Add(webhook.DefaultTolerance).Unix() {
		e.CreatedAt = signed.UTC()
	}
	return e, nil
}

// train returns the release train of a version of the API, such as clover of 2026-02-25.clover.
func train(version string) string {
	_, name, _ := strings.Cut(version, ".")
	return name
}

// signedAt returns the time in a signature. It rejects two times, which the provider never sends and which would be
// ambiguous.
func signedAt(signature string) (at time.Time, ok bool) {
	for part := range strings.SplitSeq(signature, ",") {
		text, isTime := strings.CutPrefix(part, "t=")
		if !isTime {
			continue
		}
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || ok {
			return time.Time{}, false
		}
		at, ok = time.Unix(seconds, 0), true
	}
	return at, ok
}
