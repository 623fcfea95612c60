package web

import (
	"reflect"
	"slices"
	"time"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web/bind"
)

// The defaults of a route.
const (
	defaultMaxBody = 64 << 10
	defaultTimeout = 30 * time.Second
	// readTimeout is the timeout of routes that read views: queries of a few rows, and the wait for a position.
	readTimeout = 5 * time.Second
)

// Route is one row of the route table. It determines binding, the 422s, defaults, authentication and limits.
type Route struct {
	Method  string
	Path    string // "/v1/ai/voice/{id}"; {rest:path} at the end also matches slashes
	Summary string
	Tag     string

	Access     Access
	Roles      []string          // of the permitted admin tokens; with any, the route takes tokens and no API keys
	Loopback   bool              // callers on this machine need no token
	ReadModels []readmodel.Model // that a write waits for, or a read reads
	Views      []readmodel.View  // that a read reads
	MaxBody    int               // bytes
	Uploads    int64             // maximum bytes of a multipart body that is written to disk; 0 for none
	Before     func(*Call) error // refuses callers before an upload is read
	Act        *Act              // of an operator or auditor; nil if nothing is changed or copied
	Timeout    time.Duration
	Stream     time.Duration // of a stream that clients can resume; 0 means Limits.Stream

	AnyContentType bool // a body of any content type is read as JSON
	Forms          bool // multipart and urlencoded bodies are accepted in addition to JSON
	WhileDraining  bool // also answered while the server drains, and on connections beyond the limit
	Appends        bool // may append to the log: it counts toward the rates of accounts and addresses
	FreeChange     bool // costs its account nothing: it counts toward the budget of such changes
	// Changes something: HEAD is refused, and a browser's session admits only pages of the service and of allowed origins.
	ChangesState bool
	Navigable    bool // with ChangesState, a session also admits navigation, which proves the user's intent
	KeyOnly      bool // takes API keys, and no browser's session
	OpenAI       bool // a route of OpenAI's interface, see OpenAIRoute

	// For the documentation only.
	Description string            // more than the summary, in Markdown
	Meanings    map[string]string // of inputs, by their names
	FormFirst   bool              // forms are the natural bodies of a row with Forms
	RawBody     string            // the content type of a body that the handler takes apart itself
	Outcomes    []Outcome
	Refusals    []int     // statuses of the handler's refusals
	Received    []Message // of a WebSocket, from clients
	Sent        []Message // of a WebSocket, from the server

	// In is the type of the handler's input, and Variant the one that the route binds; package bind explains them.
	In      reflect.Type
	Variant bind.Variant
	handle  func(call *Call, bindInto func(reflect.Value) error) (Reply, error)
	socket  SocketHandler // of a WebSocket
}

// Access states which credentials a route requires.
type Access uint8

// The kinds of access.
const (
	AccessAuthenticated Access = iota // 401 without a valid credential
	AccessOptional                    // a credential is optional; a wrong one is 401
	AccessPublic                      // credentials are ignored
)

// Option changes a route.
type Option func(*Route)

// Public marks a route that ignores credentials.
func Public() Option { return func(r *Route) { r.Access = AccessPublic } }

// Optional marks a route with optional credentials.
func Optional() Option { return func(r *Route) { r.Access = AccessOptional } }

// Role admits the admin tokens of any of the roles (Config.Tokens), sent as `authorization: Bearer <token>`.
func Role(roles ...string) Option { return func(r *Route) { r.Roles = roles } }

// OrLoopback admits callers on this machine to a route with Role without a token, except pages in a browser.
func OrLoopback() Option { return func(r *Route) { r.Loopback = true } }

// MaxBody sets the maximum size of a body in bytes. A larger one is refused with 413.
func MaxBody(bytes int) Option { return func(r *Route) { r.MaxBody = bytes } }

// Uploads accepts multipart bodies of up to a number of bytes, and writes their files to the disk (Config.Uploads) once
// the caller is known. MaxBody then limits the other fields of the form, and bodies without an announced length.
func Uploads(bytes int64) Option { return func(r *Route) { r.Uploads, r.Forms = bytes, true } }

// Before sets a check that runs once the caller of a route with Uploads is known, before the body is read. It need not
// refuse everything that the handler would.
func Before(refuse func(*Call) error) Option { return func(r *Route) { r.Before = refuse } }

// Timeout sets the deadline of the handler. A stream that the handler returns has its own (Limits.Stream).
func Timeout(d time.Duration) Option { return func(r *Route) { r.Timeout = d } }

// Resumed sets the maximum duration of a stream that clients can resume, so that it is also cut when the server
// drains.
func Resumed(d time.Duration) Option { return func(r *Route) { r.Stream = d } }

// Summary is a line for the documentation.
func Summary(text string) Option { return func(r *Route) { r.Summary = text } }

// Description is a longer text than the summary, in Markdown.
func Description(text string) Option { return func(r *Route) { r.Description = text } }

// Meanings describes inputs, by their names. A field's own tag doc takes precedence.
func Meanings(byName map[string]string) Option { return func(r *Route) { r.Meanings = byName } }

// RawBody is the content type of a raw body; the default is application/octet-stream.
func RawBody(contentType string) Option { return func(r *Route) { r.RawBody = contentType } }

// KeyOnly marks a route that takes API keys and no session of a browser.
func KeyOnly() Option { return func(r *Route) { r.KeyOnly = true } }

// OpenAIRoute marks a route of OpenAI's interface: errors have the form and the statuses that its clients expect, and
// the required API key may be sent as `authorization: Bearer <key>`.
func OpenAIRoute() Option { return func(r *Route) { r.OpenAI, r.KeyOnly = true, true } }

// As binds one variant of the handler's input.
func As(variant bind.Variant) Option { return func(r *Route) { r.Variant = variant } }

// Tag groups routes in the documentation.
func Tag(name string) Option { return func(r *Route) { r.Tag = name } }

// ReadModels declares the read models that a write's handler waits for.
func ReadModels(models ...readmodel.Model) Option {
	return func(r *Route) { r.ReadModels = models }
}

// Reads declares the views that a read reads: x-recital-min-position waits only for their read models. The deadline is
// readTimeout.
func Reads(views ...readmodel.View) Option {
	return func(r *Route) {
		r.Views, r.Timeout = views, min(r.Timeout, readTimeout)
		for _, view := range views {
			if !slices.Contains(r.ReadModels, view.Model) {
				r.ReadModels = append(r.ReadModels, view.Model)
			}
		}
	}
}

// AnyContentType reads a body as JSON regardless of its content type.
func AnyContentType() Option { return func(r *Route) { r.AnyContentType = true } }

// Forms accepts multipart and urlencoded bodies in addition to JSON.
func Forms() Option { return func(r *Route) { r.Forms = true } }

// FormBody is like Forms, and documents forms before JSON.
func FormBody() Option { return func(r *Route) { r.Forms, r.FormFirst = true, true } }

// WhileDraining marks an operational route, which is also answered while the server drains and on connections beyond
// the limit.
func WhileDraining() Option { return func(r *Route) { r.WhileDraining = true } }

// Appends marks a GET that may append to the log: Config.Rates and ChangesState apply. Rows of other methods are marked
// by default.
func Appends() Option { return func(r *Route) { r.Appends, r.ChangesState = true, true } }

// ChangesState marks a GET that changes something: HEAD is refused with 405, and the session of a browser admits only
// pages of the service itself and of allowed origins. Rows of other methods are marked by default.
func ChangesState() Option { return func(r *Route) { r.ChangesState = true } }

// Navigable admits the session of a browser that navigates to a route with ChangesState, by a link or a typed address.
// It does not admit resources that a page loads, including frames, or that the browser prefetches.
func Navigable() Option { return func(r *Route) { r.Navigable = true } }

// AppendsNothing marks a row with a method other than GET that never appends to the log.
func AppendsNothing() Option { return func(r *Route) { r.Appends = false } }

// FreeChange marks a row that appends at no cost to its account, as often as it is asked for. It is not for what ends a
// thing, such as the revocation of a key: that must never be refused, and happens once for each thing.
func FreeChange() Option { return func(r *Route) { r.FreeChange = true } }

// Signed marks a row that identifies its callers by a signature of the body. Only they can append, and a rate would
// delay their notices.
func Signed() Option { return func(r *Route) { r.Access, r.Appends = AccessPublic, false } }

// Get returns a row for GET and, without ChangesState, for HEAD, which drops the body and never starts a stream.
func Get[In any](path string, handler func(*Call, In) (Reply, error), options ...Option) Route {
	return row("GET", path, handler, options)
}

// Post returns a row for POST.
func Post[In any](path string, handler func(*Call, In) (Reply, error), options ...Option) Route {
	return row("POST", path, handler, options)
}

// Put returns a row for PUT.
func Put[In any](path string, handler func(*Call, In) (Reply, error), options ...Option) Route {
	return row("PUT", path, handler, options)
}

// Delete returns a row for DELETE.
func Delete[In any](path string, handler func(*Call, In) (Reply, error), options ...Option) Route {
	return row("DELETE", path, handler, options)
}

func row[In any](method, path string, handler func(*Call, In) (Reply, error), options []Option) Route {
	route := Route{
		Method: method, Path: path, MaxBody: defaultMaxBody, Timeout: defaultTimeout, Appends: method != "GET",
		ChangesState: method != "GET", In: reflect.TypeFor[In](),
	}
	route.handle = func(call *Call, bindInto func(reflect.Value) error) (Reply, error) {
		var in In
		if err := bindInto(reflect.ValueOf(&in).Elem()); err != nil {
			return Reply{}, err
		}
		return handler(call, in)
	}
	for _, option := range options {
		option(&route)
	}
	return route
}

// TakesSessions reports whether the route accepts the session of a browser.
func (r *Route) TakesSessions() bool {
	return len(r.Roles) == 0 && r.Access != AccessPublic && !r.KeyOnly
}

// Inputs returns the fields that the route binds.
func (r *Route) Inputs() ([]bind.Field, error) {
	plan, err := r.Variant.Compile(r.In)
	if err != nil {
		return nil, err
	}
	return plan.Fields(), nil
}

// endpoint is a route ready to serve.
type endpoint struct {
	*Route
	pattern pattern
	params  []string // of the path
	plan    *bind.Plan
}

// onlyReads reports whether the route only reads views.
func (e *endpoint) onlyReads() bool { return !e.ChangesState && len(e.Views) > 0 }

// Outcome is one kind of reply of a route, for its documentation. Refusals by the server itself (401, 413, 415, 422,
// 503 …) follow from the row and need none.
type Outcome struct {
	Status  int
	Means   string         // a line; "" means the status's usual meaning
	Body    reflect.Type   // sent as JSON; nil for other media types
	Media   []string       // content types of a body other than JSON; "*/*" is any
	Sends   []string       // headers that are always sent
	MaySend []string       // headers that are sent sometimes
	Headers []reflect.Type // structs of headers; pointers are sent sometimes
}

// HeaderFields returns the headers that the structs in Headers declare.
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

// OutcomeOption changes an Outcome.
type OutcomeOption func(*Outcome)

// Returns declares a reply with a T in JSON, by default with status 200. The tags of T's fields set bounds; package
// openapi explains them.
func Returns[T any](options ...OutcomeOption) Option {
	return declare(Outcome{Status: 200, Body: reflect.TypeFor[T]()}, options)
}

// ReturnsMedia declares a reply with a body of one of the content types other than JSON.
func ReturnsMedia(contentTypes []string, options ...OutcomeOption) Option {
	return declare(Outcome{Status: 200, Media: contentTypes}, options)
}

// ReturnsNothing declares a reply without a body.
func ReturnsNothing(status int, options ...OutcomeOption) Option {
	return declare(Outcome{Status: status}, options)
}

// Refuses declares refusals of the handler, in the documented form of errors.
func Refuses(statuses ...int) Option {
	return func(r *Route) { r.Refusals = append(r.Refusals, statuses...) }
}

func declare(o Outcome, options []OutcomeOption) Option {
	for _, option := range options {
		option(&o)
	}
	return func(r *Route) { r.Outcomes = append(r.Outcomes, o) }
}

// Status sets a status other than 200.
func Status(status int) OutcomeOption { return func(o *Outcome) { o.Status = status } }

// Means describes the reply in a line.
func Means(text string) OutcomeOption { return func(o *Outcome) { o.Means = text } }

// SendsHeaders declares the headers that SetHeaders sets from a T.
func SendsHeaders[T any]() OutcomeOption {
	return func(o *Outcome) { o.Headers = append(o.Headers, reflect.TypeFor[T]()) }
}

// Sends declares headers, of HTTP or the server itself, that the reply always has.
func Sends(headers ...string) OutcomeOption {
	return func(o *Outcome) { o.Sends = append(o.Sends, headers...) }
}

// MaySend declares headers, of HTTP or the server itself, that the reply sometimes has.
func MaySend(headers ...string) OutcomeOption {
	return func(o *Outcome) { o.MaySend = append(o.MaySend, headers...) }
}
