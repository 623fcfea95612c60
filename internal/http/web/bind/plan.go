// Package bind fills a struct from a request. If that fails, it reports the errors of FastAPI with pydantic: all of
// them, in the order path, query, header, body.
//
// A tag of a field names the source of its value, and others constrain it:
//
//	query:"speed" path:"clip_id" header:"x-name" body:"text"   the source and the name there
//	in:"speed"                  the same, with the source of the Variant
//	raw:"body"                  the unparsed body ([]byte)
//	alias:"response_format,…"   further names of a query or body field; the first that is present counts
//	required:"true"             absent is an error ("missing"); path values are always required
//	default:"1"                 the value when absent, checked like any other at start
//	gt, ge, lt, le              bounds of a number
//	unless:"error"              a required query field may be absent where this one of the query has a value
//	minlen, maxlen              bounds of a string, in Unicode code points
//	pattern:"^a+$"              of a string
//	maxitems:"100"              of a list; minlen, maxlen and pattern apply to its items
//	literal:"a,b"  enum:"a,b"   the values allowed; they differ in the error type (literal_error, enum)
//	synonyms:"mulaw=ulaw"       further values accepted, and their meaning
//	several:"true"              several of the values, with commas
//	member:"id"                 an object with this member stands for the value of the member (JSON bodies)
//	url:"http"                  an absolute http or https URL, normalised as a browser would
//	doc  example  nullable  format   for the documentation only; see package openapi
//
// Types: string, bool, int, int64, float64 (and named types of these kinds), []string, File, []File,
// and types that implement encoding.TextUnmarshaler, with errors for clients. A pointer is nil when the value is
// absent. Embedded structs are flattened. A null in a JSON body means that the field is absent, unless a value is
// required.
//
// A struct that stands for several requests has variants, see Variants:
//
//	for:"get,post"              only these variants have the field
//	get.default:"2"             replaces the tag default in the variant get; every tag but the source can be replaced
//	get.after:"text"            moves the field behind another one, in errors and in the documentation
//
// Only this package interprets the tags. Plan.Fields and Describe return their meaning.
package bind

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// File is an uploaded part. In JSON it is the hash of its content.
type File struct {
	Name        string            `json:"-"` // from the client: never to be used as a path
	ContentType string            `json:"-"` // from the client: often application/octet-stream
	Content     *io.SectionReader `json:"-"` // in memory or on disk, until the request ends
	SHA256      string            // of the content, in hexadecimal
}

type source uint8

// The sources, in the order in which FastAPI reports their errors.
const (
	fromPath source = iota
	fromQuery
	fromHeader
	fromBody
	sources
)

var sourceNames = [sources]string{"path", "query", "header", "body"}

// Plan is a compiled struct type. It is safe for concurrent use.
type Plan struct {
	fields [sources][]*field
	raw    *field // for the whole body
}

type field struct {
	Field
	index    []int
	source   source
	names    []string // the documented name first
	kind     kind
	unless   string        // the name of the field that makes it optional, "" for none
	after    string        // the name of the field before it, "" for the order of the struct
	fallback reflect.Value // invalid when there is no default
	rules    rules
}

func newField(of reflect.StructField) *field {
	f := &field{index: of.Index, Field: Field{Type: of.Type}}
	if of.Type.Kind() == reflect.Pointer {
		f.Pointer, f.Type = true, of.Type.Elem()
	}
	f.rules.Rules = &f.Rules
	return f
}

// Compile reads the tags of a struct type without variants. Every mistake in them is an error.
func Compile(t reflect.Type) (*Plan, error) { return Variant{}.Compile(t) }

// Compile reads the tags of a struct type for the variant. Every mistake in them is an error.
func (v Variant) Compile(t reflect.Type) (*Plan, error) {
	if err := v.check(); err != nil {
		return nil, fmt.Errorf("compiling the inputs %s: %w", t, err)
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("compiling the inputs %s: not a struct", t)
	}
	plan := &Plan{}
	var wrong []error
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			continue
		}
		if err := plan.add(f, v); err != nil {
			wrong = append(wrong, fmt.Errorf("compiling the input %s.%s: %w", t, f.Name, err))
		}
	}
	wrong = append(wrong, plan.reorder())
	if plan.raw != nil && len(plan.fields[fromBody]) > 0 {
		wrong = append(wrong, fmt.Errorf("compiling the inputs %s: raw body beside body fields", t))
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	return plan, nil
}

func (p *Plan) add(f reflect.StructField, v Variant) error {
	if !f.IsExported() {
		return errors.New("not exported")
	}
	all, err := parseTags(f.Tag)
	if err != nil {
		return err
	}
	tags, has, err := v.pick(all)
	if err != nil || !has {
		return err
	}
	compiled, err := compileField(f, tags)
	if err != nil {
		return err
	}
	if compiled.kind == kindRaw {
		p.raw = compiled
		return nil
	}
	p.fields[compiled.source] = append(p.fields[compiled.source], compiled)
	return nil
}

// reorder moves the fields with a tag after.
func (p *Plan) reorder() error {
	for s, fields := range p.fields {
		for _, f := range slices.Clone(fields) {
			if f.after == "" {
				continue
			}
			fields = slices.DeleteFunc(fields, func(other *field) bool { return other == f })
			before := slices.IndexFunc(fields, func(other *field) bool { return other.names[0] == f.after })
			if before < 0 {
				return fmt.Errorf("the input %s comes after %q, which does not exist", f.names[0], f.after)
			}
			fields = slices.Insert(fields, before+1, f)
		}
		p.fields[s] = fields
	}
	return nil
}

// TakesBody reports whether the plan reads the body.
func (p *Plan) TakesBody() bool { return p.raw != nil || len(p.fields[fromBody]) > 0 }

// bodyField returns the field of a member or part of the body, or nil.
func (p *Plan) bodyField(name string) *field {
	for _, f := range p.fields[fromBody] {
		if slices.Contains(f.names, name) {
			return f
		}
	}
	return nil
}

func (f *field) takesFiles() bool { return f.kind == kindFile || f.kind == kindFiles }

// set converts value and stores it in the field of the target.
func (f *field) set(target reflect.Value, value Value, files []File) []Item {
	slot := target.FieldByIndex(f.index)
	if f.Pointer {
		fresh := reflect.New(slot.Type().Elem())
		wrong := f.convert(fresh.Elem(), value, files)
		if len(wrong) == 0 {
			slot.Set(fresh)
		}
		return wrong
	}
	return f.convert(slot, value, files)
}

// absent handles a missing value.
func (f *field) absent(target reflect.Value) []Item {
	if f.Required {
		return []Item{missing().at(f.loc()...)}
	}
	if f.fallback.IsValid() {
		slot := target.FieldByIndex(f.index)
		if f.Pointer {
			fresh := reflect.New(slot.Type().Elem())
			fresh.Elem().Set(f.fallback)
			slot.Set(fresh)
			return nil
		}
		slot.Set(f.fallback)
	}
	return nil
}

// WrongHeader returns the error of a header that is common to many routes and not among their inputs.
func WrongHeader(name, why string) Item { return valueError(why).at("header", name) }

// Wrong returns the error for an input, by its name ("" for a raw body), that a check after binding refuses.
func (p *Plan) Wrong(name, why string) Item {
	if p.raw != nil && name == "" {
		return valueError(why).at("body")
	}
	for _, fields := range p.fields {
		for _, f := range fields {
			if slices.Contains(f.names, name) {
				return valueError(why).at(f.loc()...)
			}
		}
	}
	panic(fmt.Sprintf("there is no input %q that could be wrong", name))
}

func (f *field) loc(more ...any) []any {
	return append([]any{sourceNames[f.source], f.names[0]}, more...)
}

// split is strings.Split on commas, and returns nil for the empty text.
func split(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// Variants maps the names of the requests that a struct represents to the source of their fields with a tag in: "query"
// or "body".
type Variants map[string]string

// Variant returns the variant with a name. Compile returns an error if there is none.
func (v Variants) Variant(name string) Variant { return Variant{name: name, of: v} }

// Variant is one of the requests that a struct represents. The zero Variant is for a struct without variants.
type Variant struct {
	name string
	of   Variants
}

func (v Variant) check() error {
	if v.of == nil {
		return nil
	}
	if source := v.of[v.name]; source != "query" && source != "body" {
		return fmt.Errorf("the source of the variant %q is %q, neither query nor body", v.name, source)
	}
	return nil
}

// pick returns the tags of a field in the variant, and whether the variant has the field.
func (v Variant) pick(all map[string]string) (tags map[string]string, has bool, err error) {
	tags = map[string]string{}
	own := map[string]string{}
	for key, value := range all {
		variant, plain, prefixed := strings.Cut(key, ".")
		switch {
		case !prefixed:
			tags[key] = value
		case v.of[variant] == "":
			return nil, false, fmt.Errorf("the tag %s belongs to no variant", key)
		case variant == v.name:
			own[plain] = value
		}
	}
	maps.Copy(tags, own)
	has, err = v.has(tags)
	if name, ok := tags["in"]; ok {
		if v.of == nil {
			return nil, false, fmt.Errorf("in:%q needs a variant", name)
		}
		if other, ok := tags[v.of[v.name]]; ok {
			return nil, false, fmt.Errorf("in:%q beside a source of its own, %q", name, other)
		}
		tags[v.of[v.name]] = name
	}
	return tags, has, err
}

func (v Variant) has(tags map[string]string) (bool, error) {
	list, ok := tags["for"]
	if !ok {
		return true, nil
	}
	names := strings.Split(list, ",")
	for _, name := range names {
		if v.of[name] == "" {
			return false, fmt.Errorf("for:%q names no variant", list)
		}
	}
	return slices.Contains(names, v.name), nil
}
