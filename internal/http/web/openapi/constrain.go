package openapi

import (
	"cmp"

	"github.com/recital-tts/recital/internal/http/web/bind"
)

// constrain adds to a schema what the tags of its field say. Synonyms are left out: they are for old clients.
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
