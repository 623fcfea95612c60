package openapi

import (
	"cmp"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// constrain adds to a schema what the tags of its field say.
func constrain(s *jsonSchema, tag reflect.StructTag) error {
	if s.Ref != "" {
		return nil
	}
	for key, slot := range map[string]**float64{
		"ge": &s.Minimum, "gt": &s.ExclusiveMinimum, "le": &s.Maximum, "lt": &s.ExclusiveMaximum,
	} {
		if err := readNumber(tag, key, slot, parseFloat); err != nil {
			return err
		}
	}
	for key, slot := range map[string]**int{"minlen": &s.MinLength, "maxlen": &s.MaxLength} {
		if err := readNumber(tag, key, slot, strconv.Atoi); err != nil {
			return err
		}
	}
	s.Pattern, s.Format = tag.Get("pattern"), cmp.Or(tag.Get("format"), s.Format)
	if tag.Get("url") != "" {
		s.Format = "uri"
	}
	if err := readSet(s, tag); err != nil {
		return err
	}
	return readDefault(s, tag)
}

func parseFloat(text string) (float64, error) { return strconv.ParseFloat(text, 64) }

func readNumber[T any](tag reflect.StructTag, key string, slot **T, parse func(string) (T, error)) error {
	text, ok := tag.Lookup(key)
	if !ok {
		return nil
	}
	n, err := parse(text)
	if err != nil {
		return fmt.Errorf("reading %s:%q: %w", key, text, err)
	}
	*slot = &n
	return nil
}

// readSet documents only the values proper: synonyms are for old clients.
func readSet(s *jsonSchema, tag reflect.StructTag) error {
	set := cmp.Or(tag.Get("literal"), tag.Get("enum"), tag.Get("values"))
	if set == "" {
		return nil
	}
	for _, text := range strings.Split(set, ",") {
		value, err := parseValue(s, text)
		if err != nil {
			return err
		}
		s.Enum = append(s.Enum, value)
	}
	return nil
}

func readDefault(s *jsonSchema, tag reflect.StructTag) (err error) {
	if text, ok := tag.Lookup("default"); ok {
		s.Default, err = parseValue(s, text)
	}
	return err
}

// parseValue reads a value as JSON has it in a field of the schema's type.
func parseValue(s *jsonSchema, text string) (value any, err error) {
	switch s.Type {
	case "integer":
		value, err = strconv.ParseInt(text, 10, 64)
	case "number":
		value, err = parseFloat(text)
	case "boolean":
		value, err = strconv.ParseBool(text)
	default:
		return text, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the value %q: %w", text, err)
	}
	return value, nil
}

// orNull permits null beside what a schema permits.
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
