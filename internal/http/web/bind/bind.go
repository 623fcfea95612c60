package bind

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
)

// Request is the source of a struct's values. The functions return false if a value is absent. The strings and the body
// must stay valid while the bound struct is used, so the caller copies reused buffers.
type Request struct {
	Path           func(name string) (string, bool)
	Header         func(name string) (string, bool)
	Query          func(name string) []string // all values of a repeated name, in order
	ContentType    string
	Body           []byte
	Form           *Form // the body, if it has been parsed already
	Forms          bool  // multipart and urlencoded bodies are accepted in addition to JSON
	AnyContentType bool  // a body of another content type is read as JSON
}

// MalformedError means that a body cannot be parsed at all: status 400 with Detail.
type MalformedError struct{ Detail string }

func (e *MalformedError) Error() string { return e.Detail }

// Bind fills target, an addressable struct of the plan's type. The items are all errors of the request; with any,
// target is incomplete. The error is a *MalformedError.
func (p *Plan) Bind(target reflect.Value, r *Request) ([]Item, error) {
	var wrong []Item
	for _, f := range p.fields[fromPath] {
		wrong = append(wrong, f.bindOne(target, r.Path)...)
	}
	for _, f := range p.fields[fromQuery] {
		wrong = append(wrong, f.bindRepeated(target, r.Query)...)
	}
	for _, f := range p.fields[fromHeader] {
		wrong = append(wrong, f.bindOne(target, r.Header)...)
	}
	inBody, err := p.bindBody(target, r)
	return append(wrong, inBody...), err
}

func (f *field) bindOne(target reflect.Value, get func(string) (string, bool)) []Item {
	text, ok := get(f.names[0])
	if !ok {
		return f.absent(target)
	}
	return f.set(target, textValue(text), nil)
}

// bindRepeated uses all values for a list, and otherwise the last.
func (f *field) bindRepeated(target reflect.Value, get func(string) []string) []Item {
	for _, name := range f.names {
		texts := get(name)
		switch {
		case len(texts) == 0:
			continue
		case f.kind == kindList:
			return f.set(target, listValue(texts), nil)
		}
		return f.set(target, textValue(texts[len(texts)-1]), nil)
	}
	if f.unless != "" && slices.ContainsFunc(get(f.unless), func(text string) bool { return text != "" }) {
		return nil
	}
	return f.absent(target)
}

func (p *Plan) bindBody(target reflect.Value, r *Request) ([]Item, error) {
	switch {
	case p.raw != nil:
		return p.bindRaw(target, r.Body), nil
	case len(p.fields[fromBody]) == 0:
		return nil, nil
	}
	switch media := mediaType(r.ContentType); {
	case r.Form != nil:
		return p.bindForm(target, r.Form), nil
	case r.Forms && IsMultipart(r.ContentType):
		form, err := p.ReadMultipart(r.ContentType, bytes.NewReader(r.Body), len(r.Body), inMemory)
		if err != nil {
			return nil, err
		}
		return p.bindForm(target, form), nil
	case r.Forms && media == "application/x-www-form-urlencoded":
		return p.bindForm(target, readURLEncoded(r.Body)), nil
	case len(r.Body) == 0 && r.Forms && !isJSON(media):
		return p.bindForm(target, &Form{}), nil
	case len(r.Body) == 0:
		return p.bindNothing(target), nil
	case media == "" || r.AnyContentType || isJSON(media):
		return p.bindJSON(target, r.Body), nil
	}
	return []Item{notAnObject().at("body")}, nil
}

func (p *Plan) bindRaw(target reflect.Value, body []byte) []Item {
	if len(body) == 0 && p.raw.Required {
		return []Item{missing().at("body")}
	}
	target.FieldByIndex(p.raw.index).SetBytes(body)
	return nil
}

// bindNothing handles an empty body: one error for the whole body if a field is required.
func (p *Plan) bindNothing(target reflect.Value) []Item {
	for _, f := range p.fields[fromBody] {
		if len(f.absent(target)) > 0 {
			return []Item{missing().at("body")}
		}
	}
	return nil
}

func (p *Plan) bindJSON(target reflect.Value, body []byte) []Item {
	document, err := ParseObject(body)
	if syntax, is := errors.AsType[*SyntaxError](err); is {
		return []Item{jsonInvalid(syntax.Msg).at("body", syntax.Offset)}
	}
	if err != nil {
		return []Item{notAnObject().at("body")}
	}
	var wrong []Item
	for _, f := range p.fields[fromBody] {
		wrong = append(wrong, f.bindMember(target, document)...)
	}
	return wrong
}

// bindMember uses the first name with a value. A null counts as absent, unless a value is required: then it has the
// wrong type.
func (f *field) bindMember(target reflect.Value, document Object) []Item {
	null := false
	for _, name := range f.names {
		value, ok := document.Get(name)
		switch {
		case !ok:
			continue
		case value.Kind == Null:
			null = true
			continue
		}
		return f.setMember(target, value)
	}
	switch {
	case !null || !f.Required:
		return f.absent(target)
	case f.Pointer:
		return nil
	}
	return f.setMember(target, Value{})
}

func (f *field) setMember(target reflect.Value, value Value) []Item {
	if f.takesFiles() {
		return []Item{bytesType().at(f.loc()...)}
	}
	return f.set(target, value, nil)
}

// IsMultipart reports whether a body of the content type is a multipart form. Version 1 of the Python client sends
// forms as multipart/mixed.
func IsMultipart(contentType string) bool {
	media := mediaType(contentType)
	return media == "multipart/form-data" || media == "multipart/mixed"
}

// mediaType returns the content type without its parameters, in lower case.
func mediaType(contentType string) string {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(media))
}

func isJSON(media string) bool {
	return media == "application/json" || strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")
}
