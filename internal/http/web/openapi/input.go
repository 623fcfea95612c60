package openapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/bind"
)

// sources are the sources of package bind, in the order of parameters.
var sources = []string{"path", "query", "header", "body", "raw"}

// input is a field of a route's input.
type input struct {
	source, name string
	required     bool
	schema       *jsonSchema
	example      any // nil for none
}

// inputs returns all fields of a route's input, in the order of sources.
func (w *writer) inputs(r *web.Route) ([]input, error) {
	fields, err := r.Inputs()
	if err != nil {
		return nil, err
	}
	var all []input
	for _, f := range fields {
		one, err := w.input(r, f)
		if err != nil {
			return nil, fmt.Errorf("the input %s: %w", f.Name, err)
		}
		all = append(all, one)
	}
	all = append(all, unread(r.Path, all)...)
	slices.SortStableFunc(all, func(a, b input) int {
		return slices.Index(sources, a.source) - slices.Index(sources, b.source)
	})
	return all, nil
}

// unread returns the parameters of the path that the handler does not read.
func unread(path string, known []input) (more []input) {
	for _, segment := range strings.Split(path, "/") {
		name, isParameter := strings.CutPrefix(segment, "{")
		name = strings.TrimSuffix(strings.TrimSuffix(name, "}"), ":path")
		if isParameter && !slices.ContainsFunc(known, func(in input) bool { return in.source == "path" && in.name == name }) {
			more = append(more, input{source: "path", name: name, required: true, schema: &jsonSchema{Type: "string"}})
		}
	}
	return more
}

func (w *writer) input(r *web.Route, f bind.Field) (input, error) {
	s, err := w.inputSchema(f.Type)
	if err != nil {
		return input{}, err
	}
	constrain(s, f)
	if f.Nullable || f.Pointer && f.Source == "body" && r.Uploads == 0 { // a form has no null
		s = orNull(s)
	}
	if f.Member != "" {
		s = orObject(s, f.Member)
	}
	s.Description = describe(f, cmp.Or(f.Doc, r.Meanings[f.Name]))
	example, err := exampleOf(f)
	if err != nil {
		return input{}, fmt.Errorf("the example %q: %w", f.Example, err)
	}
	return input{source: f.Source, name: f.Name, required: f.Required, schema: s, example: example}, nil
}

// orObject returns a schema that also permits an object with the value in a member.
func orObject(s *jsonSchema, member string) *jsonSchema {
	inner := *s
	inner.Description = "The same value."
	object := newObject()
	object.Properties[member], object.Required = &inner, []string{member}
	return &jsonSchema{AnyOf: []*jsonSchema{s, object}}
}

// exampleOf returns the example of a field as a value for JSON.
func exampleOf(f bind.Field) (value any, err error) {
	if f.Example == "" {
		return nil, nil
	}
	switch kind := f.Type.Kind(); {
	case f.Type == reflect.TypeFor[[]string](), f.Type == reflect.TypeFor[[]web.File]():
		return strings.Split(f.Example, ","), nil
	case kind == reflect.String, f.Type == reflect.TypeFor[web.File]():
		return f.Example, nil
	}
	return value, json.Unmarshal([]byte(f.Example), &value) // a number, a boolean, or a raw body
}

func (w *writer) inputSchema(t reflect.Type) (*jsonSchema, error) {
	switch t {
	case reflect.TypeFor[web.File](), reflect.TypeFor[[]byte]():
		return &jsonSchema{Type: "string", Format: "binary"}, nil
	case reflect.TypeFor[[]web.File]():
		return &jsonSchema{Type: "array", Items: &jsonSchema{Type: "string", Format: "binary"}}, nil
	}
	return w.components.schemaOf(t)
}

// describe adds the accepted synonyms and aliases to the description of a field.
func describe(f bind.Field, text string) string {
	var more []string
	for _, s := range f.Synonyms {
		more = append(more, fmt.Sprintf("`%s` is taken for `%s`.", s.Word, s.For))
	}
	if len(f.Aliases) > 0 {
		more = append(more, "Also known as `"+strings.Join(f.Aliases, "`, `")+"`.")
	}
	if text == "" {
		return strings.Join(more, " ")
	}
	if !strings.HasSuffix(text, ".") && len(more) > 0 {
		text += "."
	}
	return strings.Join(append([]string{text}, more...), " ")
}

func parametersOf(inputs []input) []*parameter {
	var parameters []*parameter
	for _, in := range inputs {
		if in.source == "body" || in.source == "raw" {
			continue
		}
		p := &parameter{
			Name: in.name, In: in.source, Description: in.schema.Description, Required: in.required,
			Schema: in.schema, Example: in.example,
		}
		p.Schema.Description = ""
		parameters = append(parameters, p)
	}
	return parameters
}

// bodyOf returns the body of a route, or nil if it takes none.
func (w *writer) bodyOf(r *web.Route, id string, inputs []input) *requestBody {
	body := newObject()
	files, example := false, map[string]any{}
	for _, in := range inputs {
		switch in.source {
		case "raw":
			return rawBody(r, in)
		case "body":
			body.Properties[in.name] = in.schema
			files = files || isFile(in.schema)
			if in.example != nil {
				example[in.name] = in.example
			}
			if in.required {
				body.Required = append(body.Required, in.name)
			}
		}
	}
	if len(body.Properties) == 0 {
		return nil
	}
	request := &requestBody{Required: len(body.Required) > 0}
	for _, media := range mediaTypes(r, files) {
		m := request.Content.at(media)
		m.Schema = w.bodySchema(exported(id)+"Request", media, body)
		if len(example) > 0 {
			m.Example = example
		}
	}
	return request
}

// bodySchema returns a reference to the component of a body. For forms, which cannot express null, it is another
// component if fields are nullable.
func (w *writer) bodySchema(name, media string, body *jsonSchema) *jsonSchema {
	if media != "application/json" {
		form := *body
		form.Properties = map[string]*jsonSchema{}
		for field, s := range body.Properties {
			form.Properties[field] = withoutNull(s)
		}
		if !reflect.DeepEqual(form, *body) {
			name, body = name+"Form", &form
		}
	}
	w.components.Schemas[name] = body
	return componentRef(name)
}

func rawBody(r *web.Route, in input) *requestBody {
	media := cmp.Or(r.RawBody, "application/octet-stream")
	schema := in.schema
	if strings.HasSuffix(media, "json") {
		schema = &jsonSchema{Type: "object"}
	}
	return &requestBody{Required: in.required, Content: content{{name: media, Schema: schema, Example: in.example}}}
}

func isFile(s *jsonSchema) bool {
	return s.Format == "binary" || s.Items != nil && s.Items.Format == "binary"
}

// mediaTypes returns the media types of a body, the most natural first. JSON cannot carry files.
func mediaTypes(r *web.Route, files bool) []string {
	switch {
	case files:
		return []string{"multipart/form-data"}
	case r.FormFirst:
		return []string{"application/x-www-form-urlencoded", "multipart/form-data", "application/json"}
	case r.Forms:
		return []string{"application/json", "application/x-www-form-urlencoded", "multipart/form-data"}
	}
	return []string{"application/json"}
}
