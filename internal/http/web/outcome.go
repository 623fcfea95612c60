package web

import (
	"reflect"

	"github.com/recital-tts/recital/internal/http/web/bind"
)

// Outcome is one kind of reply of a route, for its documentation. What the server itself refuses (401,
// 413, 415, 422, 503 …) follows from the row and needs none.
type Outcome struct {
	Status  int
	Means   string         // a line; "" takes the status's usual meaning
	Body    reflect.Type   // is sent as JSON; nil for what is no JSON
	Media   []string       // content types of a body that is no JSON; "*/*" is any
	Sends   []string       // headers that are always there
	MaySend []string       // headers that are there sometimes
	Headers []reflect.Type // structs of headers; those that are pointers are there sometimes
}

// HeaderFields are the headers that the structs of Headers declare.
func (o Outcome) HeaderFields() ([]bind.Field, error) {
	var all []bind.Field
	for _, t := range o.Headers {
		fields, err := headerFields(t)
		if err != nil {
			return nil, err
		}
		all = append(all, fields...)
	}
	return all, nil
}

// OutcomeOption says more about an outcome.
type OutcomeOption func(*Outcome)

// Returns declares a reply of the JSON that T encodes to, with status 200 unless said otherwise. Tags of T's fields tell
// the bounds; package openapi explains them.
func Returns[T any](options ...OutcomeOption) Option {
	return declare(Outcome{Status: 200, Body: reflect.TypeFor[T]()}, options)
}

// ReturnsMedia declares a reply whose body has one of the content types, which are no JSON.
func ReturnsMedia(contentTypes []string, options ...OutcomeOption) Option {
	return declare(Outcome{Status: 200, Media: contentTypes}, options)
}

// ReturnsNothing declares a reply without a body.
func ReturnsNothing(status int, options ...OutcomeOption) Option {
	return declare(Outcome{Status: status}, options)
}

// Refuses declares refusals of the handler, in the documented shape of errors.
func Refuses(statuses ...int) Option {
	return func(r *Route) { r.Refusals = append(r.Refusals, statuses...) }
}

func declare(o Outcome, options []OutcomeOption) Option {
	for _, option := range options {
		option(&o)
	}
	return func(r *Route) { r.Outcomes = append(r.Outcomes, o) }
}

// Status is another status than 200.
func Status(status int) OutcomeOption { return func(o *Outcome) { o.Status = status } }

// Means says in a line what the reply is.
func Means(text string) OutcomeOption { return func(o *Outcome) { o.Means = text } }

// SendsHeaders declares the headers that SetHeaders sets from a T.
func SendsHeaders[T any]() OutcomeOption {
	return func(o *Outcome) { o.Headers = append(o.Headers, reflect.TypeFor[T]()) }
}

// Sends names headers of HTTP, or of the edge itself, that the reply always has.
func Sends(headers ...string) OutcomeOption {
	return func(o *Outcome) { o.Sends = append(o.Sends, headers...) }
}

// MaySend names headers of HTTP, or of the edge itself, that the reply has sometimes.
func MaySend(headers ...string) OutcomeOption {
	return func(o *Outcome) { o.MaySend = append(o.MaySend, headers...) }
}
