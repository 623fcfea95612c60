package bind

import (
	"errors"
	"fmt"
	"reflect"
)

// Field is a compiled field, for its documentation.
type Field struct {
	Source   string // "path", "query", "header", "body" or "raw"; "" for a field of a reply
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

// Fields returns the compiled fields, by source in the order of the errors.
func (p *Plan) Fields() (all []Field) {
	for _, fields := range p.fields {
		for _, f := range fields {
			all = append(all, f.Field)
		}
	}
	if p.raw != nil {
		all = append(all, p.raw.Field)
	}
	return all
}

// describe reads the tags that are only for the documentation.
func (f *field) describe(tags map[string]string) error {
	f.Doc, f.Format, f.Example = tags["doc"], tags["format"], tags["example"]
	switch tags["nullable"] {
	case "":
	case "true":
		f.Nullable = true
	default:
		return fmt.Errorf("nullable is true or absent, not %q", tags["nullable"])
	}
	if f.rules.url {
		f.Format = "uri"
	}
	if f.Source != "" && isParsed(f.Type) { // it comes as a text
		f.Type = reflect.TypeFor[string]()
		if f.fallback.IsValid() {
			f.Default = tags["default"]
		}
	}
	return nil
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
	described := newField(f)
	plain := plainType(described.Type)
	if described.kind, err = kindOf(plain); err != nil {
		described.kind = kindOther
	}
	err = errors.Join(described.readRules(tags), described.readDefault(plain, tags), described.describe(tags))
	return described.Field, err
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
