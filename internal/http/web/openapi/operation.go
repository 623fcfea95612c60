package openapi

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/recital-tts/recital/internal/http/web"
)

var errNoOutcome = errors.New("no reply is declared: add web.Returns, web.ReturnsMedia, web.ReturnsNothing or " +
	"web.Refuses to the row")

func (w *writer) operation(r *web.Route) (*operation, error) {
	if len(r.Outcomes) == 0 && len(r.Refusals) == 0 && !r.IsSocket() {
		return nil, errNoOutcome
	}
	id := operationID(r.Method, r.Path)
	if other, taken := w.ids[id]; taken {
		return nil, fmt.Errorf("the operation id %s is that of %s, too", id, other)
	}
	w.ids[id] = r.Path
	inputs, err := w.inputs(r)
	if err != nil {
		return nil, err
	}
	op := &operation{
		OperationID: id, Summary: r.Summary, Description: unwrapped(r.Description), Security: w.security(r),
		Parameters: append(parametersOf(inputs), w.commonParameters(r)...), RequestBody: w.bodyOf(r, id, inputs),
		Responses: map[string]*response{}, WebSocket: r.IsSocket(),
	}
	if r.Tag != "" {
		op.Tags = []string{r.Tag}
	}
	return op, w.addResponses(op, r, inputs)
}

func (w *writer) addResponses(op *operation, r *web.Route, inputs []input) error {
	if r.IsSocket() {
		op.Responses["101"] = &response{Description: "The connection speaks WebSocket from here on"}
	}
	for _, o := range r.Outcomes {
		if err := w.addOutcome(op, r, o); err != nil {
			return err
		}
	}
	refuse := w.addRefusal
	if r.OpenAI {
		refuse = w.addOpenAIRefusal
	}
	for _, status := range refusals(r, inputs) {
		if err := refuse(op, strconv.Itoa(status)); err != nil {
			return err
		}
	}
	return refuse(op, "default")
}

// operationID returns an id from the method and the path. GET /v1/account/clip/{clip_id} is getAccountClip.
func operationID(method, path string) string {
	var id strings.Builder
	id.WriteString(strings.ToLower(method))
	for _, segment := range strings.Split(path, "/") {
		if segment == "v1" || segment == "ai" || strings.HasPrefix(segment, "{") {
			continue
		}
		for _, word := range strings.FieldsFunc(segment, func(c rune) bool { return c == '_' || c == '-' || c == '.' }) {
			id.WriteString(exported(word))
		}
	}
	return id.String()
}

// security lists the accepted credentials, one of which is enough; nil if credentials are ignored.
func (w *writer) security(r *web.Route) []map[string][]string {
	var names []string
	switch {
	case len(r.Roles) > 0:
		names = []string{"AdminToken"}
		if w.operatorSessions {
			names = append(names, "AdminCookie")
		}
	case r.OpenAI:
		names = []string{"ApiKeyBearer", "ApiKeyHeader"}
	case r.TakesSessions():
		names = []string{"ApiKeyHeader", "SessionCookie"}
	case r.Access != web.AccessPublic:
		names = []string{"ApiKeyHeader"}
	}
	admitted := []map[string][]string{}
	if r.Access == web.AccessOptional && len(r.Roles) == 0 || r.Loopback {
		admitted = append(admitted, map[string][]string{})
	}
	for _, name := range names {
		admitted = append(admitted, map[string][]string{name: {}})
		w.components.SecuritySchemes[name] = securitySchemes[name]
	}
	return admitted
}

var securitySchemes = map[string]object{
	"ApiKeyHeader": {"type": "apiKey", "in": "header", "name": "x-api-key", "description": "An API key of the account."},
	"ApiKeyBearer": {
		"type": "http", "scheme": "bearer", "description": "An API key of the account, on the routes of OpenAI's interface.",
	},
	"SessionCookie": {
		"type": "apiKey", "in": "cookie", "name": "svc-session",
		"description": "The session of a browser, which sign-in opens. " +
			"What changes something must come from a page of the service, or of an allowed origin.",
	},
	"AdminToken": {"type": "http", "scheme": "bearer", "description": "The token of a role: operator or auditor."},
	"AdminCookie": {
		"type": "apiKey", "in": "cookie", "name": web.OperatorCookie,
		"description": "The session of a browser, which POST /admin/session begins. What changes or records something " +
			"must come from a page of the admin address, as its browser says in Sec-Fetch-Site.",
	},
}

// commonParameters returns the parameters that the server itself reads.
func (w *writer) commonParameters(r *web.Route) []*parameter {
	var names []string
	if r.Access != web.AccessPublic && len(r.Roles) == 0 && !r.OpenAI {
		names = append(names, "LmntVersion")
	}
	if waitsForPosition(r) {
		names = append(names, "MinPosition")
	}
	var refs []*parameter
	for _, name := range names {
		w.components.Parameters[name] = commonParameters[name]
		refs = append(refs, &parameter{Ref: "#/components/parameters/" + name})
	}
	return refs
}

var commonParameters = map[string]*parameter{
	"LmntVersion": {
		Name: "lmnt-version", In: "header", Schema: &jsonSchema{Type: "string"},
		Description: "The version that the client speaks. From 1.1 on, errors come as ErrorEnvelope, otherwise as Error.",
	},
	"MinPosition": {
		Name: "x-recital-min-position", In: "header", Schema: &jsonSchema{Type: "string", Pattern: "^[0-9]+/[0-9]+$"},
		Description: "Answer only when what is read has reached this position, which a write told as `x-recital-position`. " +
			"A client so reads what it has written, on any instance.",
	},
}

// waitsForPosition reports whether the route reads read models.
func waitsForPosition(r *web.Route) bool {
	return r.Method == http.MethodGet && len(r.ReadModels) > 0 && len(r.Roles) == 0
}

// addOpenAIRefusal is addRefusal for routes of OpenAI's interface, which use 400 and 429 for 422 and 402.
func (w *writer) addOpenAIRefusal(op *operation, status string) error {
	if status == "422" {
		status = "400"
	}
	if status == "402" {
		status = "429"
	}
	if op.Responses[status] != nil {
		return nil
	}
	schema, err := w.components.schemaOf(reflect.TypeFor[web.OpenAIError]())
	if err != nil {
		return err
	}
	resp := &response{Description: openAIRefusals[status], Headers: map[string]*header{}}
	if resp.Description == "" {
		resp.Description = commonRefusals[status].means
	}
	resp.addJSON(schema)
	op.Responses[status] = resp
	return w.addKnown(resp, false, []string{"request-id", "retry-after", "x-should-retry"})
}

// openAIRefusals describes the statuses with a different meaning than on other routes.
var openAIRefusals = map[string]string{
	"400": "Inputs are wrong. The error names the first one.",
	"429": "Too many at once, or in a short time. Ask again after `retry-after` seconds. With the code " +
		"`insufficient_quota` the plan includes no more characters.",
}
