// Package openapi generates the OpenAPI 3.1 description of a route table, so that it cannot differ from the service:
// parameters, request bodies and refusals come from the rows, and replies from the Go types that rows declare
// (web.Returns and the like). WriteSockets describes the WebSockets among the routes in AsyncAPI 3.0, from the types of
// their messages.
//
// The tags of fields are part of the description. Inputs have the tags of package bind; in replies the following are
// read as well:
//
//	json:"name,omitempty"      the name; a field that may be omitted is not required
//	doc:"what it is"           a description
//	gt, ge, lt, le             bounds of a number
//	minlen, maxlen, pattern    bounds of a string, in Unicode code points
//	literal:"a,b" enum:"a,b"   all possible values
//	default:"0"                the value without the field, which is then not required
//	format:"uri"               a format of JSON Schema
//
// In inputs only:
//
//	example:"leah"             a value as in a query, with which examples of requests are made
//
// And in both:
//
//	nullable:"true"            may also be null, and is not required. Pointers are so without the tag, except for those
//	                           from queries and headers, which cannot express null
//
// Structs become components, named after their types: clipsResponse is ClipsResponse.
package openapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/bind"
)

// wrap is the end of a line within a paragraph or an item of a list.
var wrap = regexp.MustCompile(`([^\n])\n *([^\n\d])`)

// unwrapped joins the lines of each paragraph, because Swagger UI would show their ends.
func unwrapped(markdown string) string { return wrap.ReplaceAllString(markdown, "$1 $2") }

// Info is the part of a description that does not follow from the routes.
type Info struct {
	Title       string
	Version     string // of the interface
	Description string // Markdown
	Server      string // the public address; "" means the document's host

	OperatorSessions bool // browsers may use a session in place of a token
}

// Write describes the routes. The same routes give the same bytes. The error lists all routes that do not declare their
// replies or cannot be described accurately.
func Write(info Info, routes []web.Route) ([]byte, error) {
	w := newWriter()
	w.operatorSessions = info.OperatorSessions
	if err := w.addCommon(); err != nil {
		return nil, fmt.Errorf("describing the routes: %w", err)
	}
	doc := document{
		OpenAPI: "3.1.0",
		Info: object{
			"title": info.Title, "version": info.Version, "description": unwrapped(info.Description),
			"license": object{"name": "Apache 2.0", "identifier": "Apache-2.0"},
		},
		Servers: []object{{"url": cmp.Or(strings.TrimRight(info.Server, "/"), "/")}},
		Paths:   map[string]map[string]*operation{},
	}
	var wrong []error
	for i := range routes {
		r := &routes[i]
		op, err := w.operation(r)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s %s: %w", r.Method, r.Path, err))
			continue
		}
		path := strings.ReplaceAll(r.Path, ":path}", "}")
		if doc.Paths[path] == nil {
			doc.Paths[path] = map[string]*operation{}
		}
		doc.Paths[path][strings.ToLower(r.Method)] = op
		if r.Tag != "" && !slices.ContainsFunc(doc.Tags, func(known object) bool { return known["name"] == r.Tag }) {
			doc.Tags = append(doc.Tags, object{"name": r.Tag})
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, fmt.Errorf("describing the routes: %w", err)
	}
	doc.Components = w.components
	return encode(doc)
}

// encode encodes a document without escaping < and >, which occur in descriptions.
func encode(doc any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(doc); err != nil {
		return nil, fmt.Errorf("encoding the description of the routes: %w", err)
	}
	return out.Bytes(), nil
}

func newWriter() *writer {
	return &writer{ids: map[string]string{}, components: &components{
		types: map[string]reflect.Type{}, Schemas: map[string]*jsonSchema{}, Responses: map[string]*response{},
		Parameters: map[string]*parameter{}, SecuritySchemes: object{},
	}}
}

// addCommon adds the parts that many routes refer to.
func (w *writer) addCommon() (err error) {
	if w.headers, err = knownHeaders(); err != nil {
		return err
	}
	return w.components.addErrors()
}

type writer struct {
	components *components
	ids        map[string]string // paths by the ids of operations
	headers    map[string]bind.Field

	operatorSessions bool // as in Info
}
