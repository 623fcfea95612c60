package openapi

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/bind"
)

// eventStream is the media type of server-sent events.
const eventStream = "text/event-stream"

// addOutcome adds a declared reply; two of the same status are alternatives.
func (w *writer) addOutcome(op *operation, r *web.Route, o web.Outcome) error {
	status := strconv.Itoa(o.Status)
	resp := op.Responses[status]
	if resp == nil {
		resp = &response{Description: cmp.Or(o.Means, http.StatusText(o.Status)), Headers: map[string]*header{}}
		op.Responses[status] = resp
	}
	if resp.Description == "" {
		return fmt.Errorf("the status %d is unknown", o.Status)
	}
	if o.Body != nil {
		schema, err := w.components.schemaOf(o.Body)
		if err != nil {
			return err
		}
		resp.addJSON(schema)
	}
	for _, media := range o.Media {
		content := resp.Content.at(media)
		if media != eventStream { // OpenAPI 3.1 cannot describe its events
			content.Schema = &jsonSchema{Type: "string", Format: "binary"}
		}
	}
	return w.addHeaders(resp, r, o)
}

func (resp *response) addJSON(schema *jsonSchema) {
	json := resp.Content.at("application/json")
	if before := json.Schema; before != nil {
		schema = &jsonSchema{AnyOf: []*jsonSchema{before, schema}}
	}
	json.Schema = schema
}

// refusals returns the possible statuses of a row's refusals.
func refusals(r *web.Route, inputs []input) []int {
	found := map[int]bool{http.StatusServiceUnavailable: true}
	may := func(condition bool, statuses ...int) {
		for _, status := range statuses {
			found[status] = found[status] || condition
		}
	}
	body := slices.ContainsFunc(inputs, func(in input) bool { return in.source == "body" || in.source == "raw" })
	may(r.Forms || waitsForPosition(r) || r.IsSocket(), http.StatusBadRequest)
	// two different credentials are a 400, and many wrong ones a 429
	may(r.Access != web.AccessPublic || len(r.Roles) > 0,
		http.StatusBadRequest, http.StatusUnauthorized, http.StatusTooManyRequests)
	may(len(r.Roles) > 0 || r.TakesSessions() && r.ChangesState, http.StatusForbidden)
	may(r.Method != http.MethodGet && r.Access != web.AccessPublic, http.StatusConflict)
	may(body, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusTooManyRequests)
	may(len(inputs) > 0, http.StatusUnprocessableEntity)
	may(r.IsSocket(), http.StatusUpgradeRequired)
	may(waitsForPosition(r), http.StatusGatewayTimeout)
	may(true, r.Refusals...)
	may(r.Appends && len(r.Roles) == 0, http.StatusTooManyRequests)
	maps.DeleteFunc(found, func(_ int, possible bool) bool { return !possible })
	return slices.Sorted(maps.Keys(found))
}

// addRefusal adds an error. If the route has a reply with the same status, it is an alternative.
func (w *writer) addRefusal(op *operation, status string) (err error) {
	if resp := op.Responses[status]; resp != nil {
		resp.addJSON(w.errorSchema(status))
		return nil
	}
	known, ok := commonRefusals[status]
	if !ok {
		number, _ := strconv.Atoi(status)
		known.name, known.means = "Error"+status, http.StatusText(number)
	}
	resp := &response{Description: known.means, Headers: map[string]*header{}}
	resp.addJSON(w.errorSchema(status))
	w.components.Responses[known.name] = resp
	op.Responses[status] = &response{Ref: "#/components/responses/" + known.name}
	return w.addKnown(resp, false, []string{"request-id", "retry-after", "x-should-retry"})
}

// commonRefusals are components, by their statuses.
var commonRefusals = map[string]struct{ name, means string }{
	"400": {"BadRequest", "The request cannot be understood."},
	"401": {"Unauthenticated", "The credential is missing or wrong."},
	"402": {"PaymentRequired", "The plan includes no more of what is asked for: characters, or voices. Or a card was " +
		"declined: then the error has a \x60code\x60."},
	"403": {"Forbidden", "The credential does not permit this, or the cookie of a session came from a page that " +
		"may not use it."},
	"404":     {"NotFound", "There is no such thing."},
	"409":     {"Conflict", "It was changed by somebody else at the same time."},
	"413":     {"TooLarge", "The body is too large."},
	"415":     {"UnsupportedMediaType", "The body is compressed, or of a type that is not read."},
	"416":     {"NoSuchRange", http.StatusText(http.StatusRequestedRangeNotSatisfiable)},
	"422":     {"ValidationError", "Inputs are wrong. All that is wrong is listed."},
	"426":     {"UpgradeRequired", "The route speaks WebSocket only."},
	"429":     {"TooManyRequests", "Too many at once, or in a short time. Ask again after `retry-after` seconds."},
	"503":     {"Unavailable", "The service is busy, starting or stopping. Ask again after `retry-after` seconds."},
	"504":     {"NotInTime", "It was not done in time."},
	"default": {"OtherError", "Any other error."},
}

// addErrors adds the forms of errors to the components. The form of a 422 has FastAPI's name and fields, and the keys
// of both versions.
func (c *components) addErrors() error {
	for name, of := range map[string]struct {
		shape reflect.Type
		means string
	}{
		"ValidationError": {reflect.TypeFor[web.Item](), ""},
		"Error":           {reflect.TypeFor[web.FlatError](), "An error in version 1.0."},
		"ErrorEnvelope":   {reflect.TypeFor[web.ErrorEnvelope](), "An error from version 1.1 on."},
	} {
		schema, err := c.objectOf(of.shape)
		if err != nil {
			return fmt.Errorf("describing errors: %w", err)
		}
		schema.Description = of.means
		if detail := schema.Properties["detail"]; detail != nil {
			detail.Type = "string" // HTTPValidationError describes the other ones
		}
		c.Schemas[name] = schema
	}
	c.Schemas["ValidationError"].Properties["loc"].Items = &jsonSchema{
		AnyOf: []*jsonSchema{{Type: "string"}, {Type: "integer"}},
	}
	envelope := c.Schemas["ErrorEnvelope"].Properties
	c.Schemas["HTTPValidationError"] = &jsonSchema{
		Type: "object", Required: []string{"detail"}, Description: "Everything that is wrong with the inputs.",
		Properties: map[string]*jsonSchema{
			"detail": {Type: "array", Description: "One element for each input that is wrong.",
				Items: componentRef("ValidationError")},
			"error": {
				AnyOf:       []*jsonSchema{c.Schemas["Error"].Properties["error"], envelope["error"]},
				Description: "The first of it: a text in version 1.0, an object from 1.1 on.",
			},
			"type": envelope["type"], "request_id": envelope["request_id"],
		},
	}
	return nil
}

func componentRef(name string) *jsonSchema { return &jsonSchema{Ref: "#/components/schemas/" + name} }

func (w *writer) errorSchema(status string) *jsonSchema {
	if status == "422" {
		return componentRef("HTTPValidationError")
	}
	return &jsonSchema{AnyOf: []*jsonSchema{componentRef("Error"), componentRef("ErrorEnvelope")}}
}

// standardHeaders are fields of HTTP. All others are described where they are set.
type standardHeaders struct {
	AcceptRanges          string `header:"accept-ranges" doc:"Parts of the body can be asked for."`
	ContentRange          string `header:"content-range" doc:"Which part of how many bytes the body is."`
	ContentEncoding       string `header:"content-encoding" doc:"gzip where the client takes it."`
	Location              string `header:"location" doc:"Where it is."`
	ETag                  string `header:"etag" doc:"Changes with the body."`
	CacheControl          string `header:"cache-control" doc:"How long the reply may be kept."`
	ContentSecurityPolicy string `header:"content-security-policy" doc:"What the page may load."`
}

// knownHeaders returns the headers that outcomes may name: HTTP's and the server's own.
func knownHeaders() (map[string]bind.Field, error) {
	known := map[string]bind.Field{}
	for _, t := range []reflect.Type{
		reflect.TypeFor[standardHeaders](), reflect.TypeFor[web.ReplyHeaders](), reflect.TypeFor[web.RefusalHeaders](),
		reflect.TypeFor[web.WriteHeaders](),
	} {
		fields, err := web.Outcome{Headers: []reflect.Type{t}}.HeaderFields()
		if err != nil {
			return nil, err
		}
		for _, f := range fields {
			known[f.Name] = f
		}
	}
	return known, nil
}

// addHeaders adds the headers that the outcome declares, and those of every reply to a write or from a view.
func (w *writer) addHeaders(resp *response, r *web.Route, o web.Outcome) error {
	declared, err := o.HeaderFields()
	if err != nil {
		return err
	}
	for _, f := range declared {
		if resp.Headers[f.Name], err = w.header(f, !f.Pointer); err != nil {
			return err
		}
	}
	may := o.MaySend
	switch {
	case len(r.ReadModels) > 0 && (r.Appends || r.Method != http.MethodGet):
		may = slices.Concat(may, []string{"x-recital-position", "x-recital-stale"})
	case len(r.Views) > 0:
		may = slices.Concat(may, []string{"x-recital-position"})
	}
	return errors.Join(
		w.addKnown(resp, true, append([]string{"request-id"}, o.Sends...)),
		w.addKnown(resp, false, may),
	)
}

func (w *writer) addKnown(resp *response, always bool, names []string) (err error) {
	for _, name := range names {
		f, ok := w.headers[name]
		if !ok {
			return fmt.Errorf("the header %s is not described", name)
		}
		if resp.Headers[name], err = w.header(f, always); err != nil {
			return err
		}
	}
	return nil
}

// header returns the description of a field. A set of one value becomes a constant.
func (w *writer) header(f bind.Field, always bool) (*header, error) {
	s, err := w.components.schemaOf(f.Type)
	if err != nil {
		return nil, fmt.Errorf("the header %s: %w", f.Name, err)
	}
	constrain(s, f)
	if len(s.Enum) == 1 {
		s.Const, s.Enum = s.Enum[0], nil
	}
	return &header{Description: f.Doc, Required: always, Schema: s}, nil
}
