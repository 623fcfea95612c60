// Package openapitest checks replies against the OpenAPI description of their routes. It is stricter than the
// description: a key or an x- header that is not described fails, whereas clients must expect further ones.
package openapitest

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// Document is a description that replies can be checked against.
type Document struct {
	spec       *openapi3.T
	mux        *http.ServeMux // only finds the patterns of requests
	operations map[string]operation
}

type operation struct{ *openapi3.Operation }

// Parse reads and validates a description.
func Parse(description []byte) (*Document, error) {
	spec, err := openapi3.NewLoader().LoadFromData(description)
	if err != nil {
		return nil, fmt.Errorf("loading the description: %w", err)
	}
	if err := spec.Validate(context.Background(), openapi3.EnableSchemaFormatValidation()); err != nil {
		return nil, fmt.Errorf("validating the description: %w", err)
	}
	d := &Document{spec: spec, mux: http.NewServeMux(), operations: map[string]operation{}}
	for route, item := range spec.Paths.Map() {
		for method, described := range item.Operations() {
			pattern := method + " " + route
			if strings.HasSuffix(route, "/") {
				pattern += "{$}"
			}
			d.mux.Handle(pattern, http.NotFoundHandler())
			d.operations[pattern] = operation{described}
		}
	}
	return d, d.close()
}

// close forbids keys that are not described.
func (d *Document) close() error {
	return d.spec.WalkSchemas(func(_ string, ref *openapi3.SchemaRef) error {
		s := ref.Value
		if s != nil && len(s.Properties) > 0 && s.AdditionalProperties.Has == nil && s.AdditionalProperties.Schema == nil {
			s.WithoutAdditionalProperties()
		}
		return nil
	})
}

// find is the operation of a request. A path that the mux would redirect has none.
func (d *Document) find(method string, address *url.URL) (found operation, ok bool) {
	if path.Clean(address.Path) != address.Path {
		return operation{}, false
	}
	_, pattern := d.mux.Handler(&http.Request{Method: method, URL: address})
	found, ok = d.operations[pattern]
	return found, ok
}

// CheckHead checks status, headers and content type of a reply. The schema is that of its body, nil when it is no JSON.
func (d *Document) CheckHead(
	method string, address *url.URL, status int, header http.Header,
) (*openapi3.Schema, error) {
	if method == http.MethodOptions || method == http.MethodHead && status == http.StatusMethodNotAllowed {
		return nil, nil // answered everywhere alike
	}
	described, known := d.find(method, address)
	if !known {
		return nil, checkUnknown(status)
	}
	reply, err := described.reply(status)
	if err != nil {
		return nil, err
	}
	if err := checkHeaders(reply, header); err != nil {
		return nil, err
	}
	if name, ok := described.undescribed(reply, status, header); ok {
		return nil, fmt.Errorf("the header %s is not described", name)
	}
	return schemaOf(reply, header.Get("Content-Type"))
}

// checkUnknown refuses replies of operations that are not described, except for the errors of unknown routes.
func checkUnknown(status int) error {
	if status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusServiceUnavailable {
		return nil
	}
	return fmt.Errorf("no such operation is described, but it is answered with %d", status)
}

// unforeseen lists the statuses that any operation may return. The default reply describes them.
var unforeseen = []int{
	http.StatusRequestTimeout, http.StatusRequestHeaderFieldsTooLarge, http.StatusInternalServerError,
	http.StatusGatewayTimeout,
}

func (o operation) reply(status int) (*openapi3.Response, error) {
	if ref := o.Responses.Value(strconv.Itoa(status)); ref != nil {
		return ref.Value, nil
	}
	if slices.Contains(unforeseen, status) {
		return o.Responses.Default().Value, nil
	}
	return nil, fmt.Errorf("the status %d is not described", status)
}

func checkHeaders(reply *openapi3.Response, header http.Header) error {
	for name, ref := range reply.Headers {
		sent := header.Values(name) != nil
		if !sent && ref.Value.Required {
			return fmt.Errorf("the header %s is missing", name)
		}
		if sent {
			if err := checkHeader(ref.Value.Schema.Value, header.Get(name)); err != nil {
				return fmt.Errorf("the header %s: %w", name, err)
			}
		}
	}
	return nil
}

// everywhere lists the x- headers of every reply.
var everywhere = []string{"X-Request-Id", "X-Content-Type-Options"}

// undescribed looks for an x- header without a description. Errors may have headers of other replies, which the handler
// set before it failed.
func (o operation) undescribed(reply *openapi3.Response, status int, header http.Header) (name string, found bool) {
	known := slices.Clone(everywhere)
	for _, ref := range o.Responses.Map() {
		if ref.Value == reply || status >= http.StatusBadRequest {
			for name := range ref.Value.Headers {
				known = append(known, http.CanonicalHeaderKey(name))
			}
		}
	}
	for name := range header {
		if strings.HasPrefix(name, "X-") && !slices.Contains(known, name) {
			return name, true
		}
	}
	return "", false
}

func checkHeader(schema *openapi3.Schema, text string) error {
	var value any = text
	if schema.Type.Is("integer") {
		number, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return err
		}
		value = number
	}
	return checkBody(schema, value)
}

// schemaOf finds the schema for a content type, nil for what is no JSON.
func schemaOf(reply *openapi3.Response, contentType string) (*openapi3.Schema, error) {
	if len(reply.Content) == 0 {
		if contentType != "" {
			return nil, fmt.Errorf("a body is not described, but there is one of type %q", contentType)
		}
		return nil, nil
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, fmt.Errorf("reading the content type %q: %w", contentType, err)
	}
	content := reply.Content[media]
	if content == nil {
		content = reply.Content["*/*"]
	}
	switch {
	case content == nil:
		return nil, fmt.Errorf("the content type %q is not described", contentType)
	case media != "application/json" || content.Schema == nil || content.Schema.Value.Format == "binary":
		return nil, nil
	}
	return content.Schema.Value, nil
}

// checkBody checks a decoded JSON value.
func checkBody(schema *openapi3.Schema, value any) error {
	return schema.VisitJSON(value, openapi3.VisitAsResponse(), openapi3.MultiErrors(), openapi3.EnableFormatValidation(),
		openapi3.EnableJSONSchema2020())
}

// checkJSON checks a JSON document.
func checkJSON(schema *openapi3.Schema, body []byte) error {
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return fmt.Errorf("reading the body: %w", err)
	}
	return checkBody(schema, value)
}
