package openapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/recital-tts/recital/internal/http/web/bind"
)

// schemaOf returns the schema of a type as encoded by encoding/json. Named structs become components.
func (c *components) schemaOf(t reflect.Type) (*jsonSchema, error) {
	switch t {
	case reflect.TypeFor[time.Time]():
		return &jsonSchema{Type: "string", Format: "date-time"}, nil
	case reflect.TypeFor[json.RawMessage](), reflect.TypeFor[any]():
		return &jsonSchema{}, nil
	}
	switch t.Kind() {
	case reflect.String:
		return &jsonSchema{Type: "string"}, nil
	case reflect.Bool:
		return &jsonSchema{Type: "boolean"}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &jsonSchema{Type: "integer"}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &jsonSchema{Type: "integer", Minimum: new(0.0)}, nil
	case reflect.Float32, reflect.Float64:
		return &jsonSchema{Type: "number"}, nil
	case reflect.Slice:
		items, err := c.schemaOf(t.Elem())
		return &jsonSchema{Type: "array", Items: items}, err
	case reflect.Map:
		values, err := c.schemaOf(t.Elem())
		return &jsonSchema{Type: "object", AdditionalProperties: values}, err
	case reflect.Pointer:
		s, err := c.schemaOf(t.Elem())
		if err != nil {
			return nil, err
		}
		return orNull(s), nil
	case reflect.Struct:
		return c.structSchema(t)
	}
	return nil, fmt.Errorf("the type %s has no schema", t)
}

// structSchema returns a reference to the component of a named struct, or the schema of an unnamed one.
func (c *components) structSchema(t reflect.Type) (*jsonSchema, error) {
	if t.Name() == "" {
		return c.objectOf(t)
	}
	name := exported(t.Name())
	ref := componentRef(name)
	known, ok := c.types[name]
	if known == t {
		return ref, nil
	}
	if !ok {
		c.types[name] = t // before its fields, which may be recursive
	}
	object, err := c.objectOf(t)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if ok && !reflect.DeepEqual(object, c.Schemas[name]) {
		return nil, fmt.Errorf("two different types would be the schema %s: %s and %s", name, known, t)
	}
	c.Schemas[name] = object
	return ref, nil
}

func newObject() *jsonSchema {
	return &jsonSchema{Type: "object", Properties: map[string]*jsonSchema{}}
}

func (c *components) objectOf(t reflect.Type) (*jsonSchema, error) {
	object := newObject()
	for _, f := range reflect.VisibleFields(t) {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct || !f.IsExported() || name == "-" {
			continue // VisibleFields includes the fields of an embedded struct
		}
		described, err := bind.Describe(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		property, err := c.property(described)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		name = cmp.Or(name, f.Name)
		object.Properties[name] = property
		if !described.Pointer && !described.Nullable && described.Default == nil && !strings.Contains(rest, "omit") {
			object.Required = append(object.Required, name)
		}
	}
	return object, nil
}

// property returns the schema of a field, with its bounds.
func (c *components) property(f bind.Field) (*jsonSchema, error) {
	s, err := c.schemaOf(f.Type)
	if err != nil {
		return nil, err
	}
	constrain(s, f)
	if f.Pointer || f.Nullable {
		s = orNull(s)
	}
	s.Description = f.Doc
	return s, nil
}

func exported(name string) string {
	first, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(first)) + name[size:]
}

// constrain adds the tags of a field to its schema. Synonyms are omitted, because they are for old clients.
func constrain(s *jsonSchema, f bind.Field) {
	if s.Ref != "" {
		return
	}
	s.Minimum, s.ExclusiveMinimum = cmp.Or(f.GE, s.Minimum), f.GT
	s.Maximum, s.ExclusiveMaximum = f.LE, f.LT
	text := s
	if s.Items != nil {
		text, s.MaxItems = s.Items, f.MaxItems
	}
	text.MinLength, text.MaxLength, text.Pattern = f.MinLen, f.MaxLen, f.Pattern
	s.Format = cmp.Or(f.Format, s.Format)
	s.Enum, s.Default = f.Values, f.Default
}

// orNull returns a schema that also permits null.
func orNull(s *jsonSchema) *jsonSchema {
	kind, plain := s.Type.(string)
	if !plain {
		return &jsonSchema{AnyOf: []*jsonSchema{s, {Type: "null"}}}
	}
	s.Type = []string{kind, "null"}
	if s.Enum != nil {
		s.Enum = append(s.Enum, nil)
	}
	return s
}

// withoutNull undoes orNull, in a copy.
func withoutNull(s *jsonSchema) *jsonSchema {
	kinds, nullable := s.Type.([]string)
	if !nullable {
		return s
	}
	plain := *s
	plain.Type = kinds[0]
	plain.Enum = slices.DeleteFunc(slices.Clone(s.Enum), func(value any) bool { return value == nil })
	return &plain
}
