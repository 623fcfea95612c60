package bind

import (
	"errors"
	"fmt"
	"reflect"
)

// Field is a compiled field, for its documentation.
type Field struct {
	Source   string // "path", "query", "header", "cookie", "body" or "raw"; "" for a field of a reply
	Name     string
	Aliases  []string
	Type     reflect.Type // of the value, without the pointer
	Pointer  bool
	Required bool
	Rules
	Doc      string
	Nullable bool   // by the tag nullable
	Format   string // of JSON Schema
	Example  string // in the form of a query
}

// Rules constrain the value of a field. An absent bound is nil.
type Rules struct {
	GT, GE, LT, LE *float64
	MinLen, MaxLen *int // code points; of the items of a list
	MaxItems       *int
	Pattern        string
	Values         []any // all possible values; nil if the set is open
	Synonyms       []Synonym
	Member         string // of an object that may stand for the value; "" for none
	Default        any    // nil for none
}

// Synonym is a further value that is accepted.
type Synonym struct{ Word, For string }

// docs holds the tags that are only for the documentation.
type docs struct {
	doc, format, example string
	fallback             string // the tag default
	values               []string
	nullable             bool
}

func (d *docs) read(tags map[string]string) error {
	d.doc, d.format, d.example, d.values = tags["doc"], tags["format"], tags["example"], split(tags["values"])
	d.fallback = tags["default"]
	switch tags["nullable"] {
	case "":
	case "true":
		d.nullable = true
	default:
		return fmt.Errorf("nullable is true or absent, not %q", tags["nullable"])
	}
	return nil
}

// Fields returns the compiled fields, by source in the order of the errors.
func (p *Plan) Fields() []Field {
	var all []Field
	for s, name := range sourceNames {
		for _, f := range p.fields[s] {
			all = append(all, f.describe(name))
		}
	}
	if p.raw != nil {
		all = append(all, p.raw.describe("raw"))
	}
	return all
}

func (f *field) describe(source string) Field {
	described := Field{
		Source: source, Type: f.of, Pointer: f.nullable, Required: f.required, Doc: f.docs.doc, Nullable: f.docs.nullable,
		Format: f.docs.format, Example: f.docs.example, Rules: f.rules.Rules,
	}
	described.Values = f.values()
	if len(f.names) > 0 {
		described.Name, described.Aliases = f.names[0], f.names[1:]
	}
	if f.rules.url {
		described.Format = "uri"
	}
	if f.fallback.IsValid() {
		described.Default = f.fallback.Interface()
	}
	if source != "" && isParsed(f.of) { // it comes as a text
		described.Type = reflect.TypeFor[string]()
		if f.fallback.IsValid() {
			described.Default = f.docs.fallback
		}
	}
	return described
}

// values returns the set of a literal or an enumeration, or else the documented values.
func (f *field) values() (all []any) {
	if f.kind == kindInteger && f.rules.setKind != "" {
		for _, number := range f.rules.numbers {
			all = append(all, number)
		}
		return all
	}
	words := f.rules.words
	if words == nil {
		words = f.docs.values
	}
	for _, word := range words {
		all = append(all, word)
	}
	return all
}

// Describe reads the tags of a field of a reply. The tag of encoding/json has its name and whether it may be omitted,
// and the tag col its column in recitalctl's tables. Tags for binding are errors.
func Describe(f reflect.StructField) (Field, error) {
	tags, err := parseTags(f.Tag, "json", "col")
	if err != nil {
		return Field{}, err
	}
	for key := range tags {
		switch key {
		case "json", "col", "default", "gt", "ge", "lt", "le", "minlen", "maxlen", "pattern", "literal", "enum", "doc",
			"nullable", "format":
		default:
			return Field{}, fmt.Errorf("the tag %s does not go with a reply", key)
		}
	}
	described := &field{of: f.Type}
	if f.Type.Kind() == reflect.Pointer {
		described.nullable, described.of = true, f.Type.Elem()
	}
	plain := plainType(described.of)
	if described.kind, err = kindOf(plain); err != nil {
		described.kind = kindOther
	}
	if err := errors.Join(described.readRules(tags), described.docs.read(tags),
		described.readDefault(plain, tags)); err != nil {
		return Field{}, err
	}
	return described.describe(""), nil
}

// plainType returns the type for the bounds and defaults of a type.
func plainType(t reflect.Type) reflect.Type {
	switch {
	case t.Kind() == reflect.String:
		return reflect.TypeFor[string]()
	case t.Kind() == reflect.Bool:
		return reflect.TypeFor[bool]()
	case reflect.Int <= t.Kind() && t.Kind() <= reflect.Uint64:
		return reflect.TypeFor[int64]()
	case t.Kind() == reflect.Float32, t.Kind() == reflect.Float64:
		return reflect.TypeFor[float64]()
	}
	return t
}

// EachHeader calls set with the name and the text of each field with a tag header, except for nil pointers. It is the
// reverse of binding, for replies.
func EachHeader(from reflect.Value, set func(name, text string)) {
	for field, value := range from.Fields() {
		name := field.Tag.Get("header")
		if value.Kind() == reflect.Pointer {
			value = value.Elem() // not valid for nil
		}
		switch {
		case field.Anonymous:
			EachHeader(value, set)
		case name == "" || !value.IsValid():
		case value.Kind() == reflect.String:
			set(name, value.String())
		default:
			set(name, fmt.Sprint(value.Interface()))
		}
	}
}
