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

// addOutcome adds a declared reply; two of the same status are alternatives.
func (w *writer) addOutcome(op *operation, r *web.Route, o web.Outcome) error {
	status := strconv.Itoa(o.Status)
	told := op.Responses[status]
	if told == nil {
		told = &response{Description: cmp.Or(o.Means, http.StatusText(o.Status)), Headers: map[string]*header{}}
		op.Responses[status] = told
	}
	if told.Description == "" {
		return fmt.Errorf("the status %d is unknown", o.Status)
	}
	if o.Body != nil {
		schema, err := w.components.schemaOf(o.Body)
		if err != nil {
			return err
		}
		told.addJSON(schema)
	}
	for _, media := range o.Media {
		told.Content.at(media).Schema = &jsonSchema{Type: "string", Format: "binary"}
	}
	return w.addHeaders(told, r, o)
}

func (told *response) addJSON(schema *jsonSchema) {
	json := told.Content.at("application/json")
	if before := json.Schema; before != nil {
		schema = &jsonSchema{AnyOf: []*jsonSchema{before, schema}}
	}
	json.Schema = schema
}

// refusals are the statuses, beside those of the outcomes, that the row makes possible.
func refusals(r *web.Route, inputs []input) []int {
	found := map[int]bool{http.StatusServiceUnavailable: true}
	may := func(condition bool, statuses ...int) {
		for _, status := range statuses {
			found[status] = found[status] || condition
		}
	}
	body := slices.ContainsFunc(inputs, func(in input) bool { return in.source == "body" || in.source == "raw" })
	may(r.Forms || waitsForPosition(r) || r.IsSocket(), http.StatusBadRequest)
	// Two credentials that differ are a 400, and many wrong ones a 429.
	may(r.Access != web.AccessPublic || len(r.Roles) > 0, http.StatusBadRequest, http.StatusUnauthorized, http.StatusTooManyRequests)
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

// addRefusal adds an error. Where a reply of the route's own has the status, too, it is an alternative.
func (w *writer) addRefusal(op *operation, status string) (err error) {
	if told := op.Responses[status]; told != nil {
		told.addJSON(w.refusalSchema(status))
		return nil
	}
	name := refusalName(status)
	if w.components.Responses == nil {
		w.components.Responses = map[string]*response{}
	}
	if w.components.Responses[name], err = w.refusal(status); err != nil {
		return err
	}
	op.Responses[status] = &response{Ref: "#/components/responses/" + name}
	return nil
}

// refusalNames are the components of the statuses; other statuses are named by their numbers.
func refusalName(status string) string {
	name, ok := map[string]string{
		"400": "BadRequest", "401": "Unauthenticated", "402": "PaymentRequired", "403": "Forbidden", "404": "NotFound", "409": "Conflict",
		"413": "TooLarge", "415": "UnsupportedMediaType", "416": "NoSuchRange", "422": "ValidationError", "426": "UpgradeRequired",
		"429": "TooManyRequests", "503": "Unavailable", "504": "NotInTime", "default": "OtherError",
	}[status]
	if !ok {
		return "Error" + status
	}
	return name
}

func (w *writer) refusal(status string) (*response, error) {
	means, ok := map[string]string{
		"400":     "The request cannot be understood.",
		"401":     "The credential is missing or wrong.",
		"402":     "The plan includes no more of what is asked for: characters, or voices.",
		"403":     "The credential does not permit this, or the cookie of a session came from a page that may not use it.",
		"404":     "There is no such thing.",
		"409":     "It was changed by somebody else at the same time.",
		"413":     "The body is too large.",
		"415":     "The body is compressed, or of a type that is not read.",
		"422":     "Inputs are wrong. All that is wrong is listed.",
		"426":     "The route speaks WebSocket only.",
		"429":     "Too many at once, or in a short time. Ask again after `retry-after` seconds.",
		"503":     "The service is busy, starting or stopping. Ask again after `retry-after` seconds.",
		"504":     "It was not done in time.",
		"default": "Any other error.",
	}[status]
	if !ok {
		number, _ := strconv.Atoi(status)
		means = http.StatusText(number)
	}
	told := &response{Description: means, Headers: map[string]*header{}}
	told.addJSON(w.refusalSchema(status))
	return told, w.addKnown(told, false, []string{"request-id", "retry-after", "x-should-retry"})
}

// refusalSchema refers to the shapes of errors, which it makes components.
func (w *writer) refusalSchema(status string) *jsonSchema {
	if status == "422" {
		return w.refer(validationSchemas(), "HTTPValidationError")
	}
	schemas := map[string]*jsonSchema{"Error": flatSchema(), "ErrorEnvelope": envelopeSchema()}
	return &jsonSchema{AnyOf: []*jsonSchema{w.refer(schemas, "Error"), w.refer(schemas, "ErrorEnvelope")}}
}

// refer makes schemas components, and refers to one of them.
func (w *writer) refer(schemas map[string]*jsonSchema, name string) *jsonSchema {
	maps.Copy(w.components.Schemas, schemas)
	return &jsonSchema{Ref: "#/components/schemas/" + name}
}

func text(means string) *jsonSchema { return &jsonSchema{Type: "string", Description: means} }

func flatSchema() *jsonSchema {
	return &jsonSchema{
		Type: "object", Description: "An error in version 1.0.",
		Properties: map[string]*jsonSchema{
			"error":   text("What is wrong, for people."),
			"message": text("The same, with a 401 and where there is a `detail`."),
			"status":  {Type: "integer", Description: "The status, with a 401."},
			"detail":  text("The same, where no route was found, or the body cannot be taken apart."),
		},
	}
}

func envelopeSchema() *jsonSchema {
	return &jsonSchema{
		Type: "object", Description: "An error from version 1.1 on.", Required: []string{"type", "error", "request_id"},
		Properties: map[string]*jsonSchema{
			"type": {Type: "string", Const: "error", Description: "Always `error`."},
			"error": {Type: "object", Description: "What is wrong.", Required: []string{"type", "message"}, Properties: map[string]*jsonSchema{
				"type":    text("The kind of error, such as `not_found_error`."),
				"message": text("What is wrong, for people."),
			}},
			"request_id": text("The same as the header `request-id`."),
			"detail":     text("As in `Error`."),
		},
	}
}

// validationSchemas are named and made as FastAPI does it, with the keys of the versions beside.
func validationSchemas() map[string]*jsonSchema {
	error, envelope := flatSchema().Properties["error"], envelopeSchema().Properties
	return map[string]*jsonSchema{
		"HTTPValidationError": {
			Type: "object", Required: []string{"detail"}, Description: "Everything that is wrong with the inputs.",
			Properties: map[string]*jsonSchema{
				"detail": {Type: "array", Description: "One element for each input that is wrong.", Items: &jsonSchema{Ref: "#/components/schemas/ValidationError"}},
				"error": {
					AnyOf: []*jsonSchema{error, envelope["error"]}, Description: "The first of it: a text in version 1.0, an object from 1.1 on.",
				},
				"type":       envelope["type"],
				"request_id": envelope["request_id"],
			},
		},
		"ValidationError": {
			Type: "object", Required: []string{"loc", "msg", "type"},
			Properties: map[string]*jsonSchema{
				"loc":  {Type: "array", Description: "Where: the source, and the name in it.", Items: &jsonSchema{AnyOf: []*jsonSchema{text(""), {Type: "integer"}}}},
				"msg":  text("What is wrong, for people."),
				"type": text("The kind of error, such as `missing`."),
				"ctx":  {Type: "object", Description: "What the message is made of."},
			},
		},
	}
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

// knownHeaders are those that outcomes may name: of HTTP and of the edge itself.
func knownHeaders() (map[string]bind.Field, error) {
	known := map[string]bind.Field{}
	for _, t := range []reflect.Type{
		reflect.TypeFor[standardHeaders](), reflect.TypeFor[web.ReplyHeaders](), reflect.TypeFor[web.RefusalHeaders](), reflect.TypeFor[web.WriteHeaders](),
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

// addHeaders adds those that the outcome declares, and those that every reply to a write or of a view may have.
func (w *writer) addHeaders(told *response, r *web.Route, o web.Outcome) error {
	declared, err := o.HeaderFields()
	if err != nil {
		return err
	}
	for _, f := range declared {
		if told.Headers[f.Name], err = w.header(f, !f.Pointer); err != nil {
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
		w.addKnown(told, true, append([]string{"request-id"}, o.Sends...)),
		w.addKnown(told, false, may),
	)
}

func (w *writer) addKnown(told *response, always bool, names []string) (err error) {
	for _, name := range names {
		f, ok := w.headers[name]
		if !ok {
			return fmt.Errorf("the header %s is not described", name)
		}
		if told.Headers[name], err = w.header(f, always); err != nil {
			return err
		}
	}
	return nil
}

// header describes a field. A set of one value is a constant.
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
