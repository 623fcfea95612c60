package openapi

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// document and the types below have the field names of the specification (OpenAPI 3.1.0), as far as they are used here.

type document struct {
	OpenAPI    string                           `json:"openapi"`
	Info       object                           `json:"info"`
	Servers    []object                         `json:"servers"`
	Tags       []object                         `json:"tags,omitempty"`
	Paths      map[string]map[string]*operation `json:"paths"`
	Components *components                      `json:"components"`
}

type operation struct {
	OperationID string                `json:"operationId"`
	Summary     string                `json:"summary,omitempty"`
	Description string                `json:"description,omitempty"`
	Tags        []string              `json:"tags,omitempty"`
	Security    []map[string][]string `json:"security"`
	Parameters  []*parameter          `json:"parameters,omitempty"`
	RequestBody *requestBody          `json:"requestBody,omitempty"`
	Responses   map[string]*response  `json:"responses"`
	WebSocket   bool                  `json:"x-websocket,omitempty"`
}

type parameter struct {
	Ref         string      `json:"$ref,omitempty"`
	Name        string      `json:"name,omitempty"`
	In          string      `json:"in,omitempty"`
	Description string      `json:"description,omitempty"`
	Required    bool        `json:"required,omitempty"`
	Schema      *jsonSchema `json:"schema,omitempty"`
	Example     any         `json:"example,omitempty"`
}

type requestBody struct {
	Required bool    `json:"required,omitempty"`
	Content  content `json:"content"`
}

// content holds the media types of a body, the most natural one first. It is an object in the document, with an order
// that pages and generators follow.
type content []*mediaType

// at returns the media type with a name, which it adds if necessary.
func (c *content) at(name string) *mediaType {
	for _, known := range *c {
		if known.name == name {
			return known
		}
	}
	fresh := &mediaType{name: name}
	*c = append(*c, fresh)
	return fresh
}

// MarshalJSON writes an object in the order of the list.
func (c content) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	separator := "{"
	for _, media := range c {
		out.WriteString(separator)
		if err := encoder.Encode(media.name); err != nil {
			return nil, err
		}
		out.WriteString(":")
		if err := encoder.Encode(media); err != nil {
			return nil, err
		}
		separator = ","
	}
	out.WriteString("}")
	return out.Bytes(), nil
}

type mediaType struct {
	name string

	Schema  *jsonSchema `json:"schema,omitempty"`
	Example any         `json:"example,omitempty"`
}

type response struct {
	Ref         string             `json:"$ref,omitempty"`
	Description string             `json:"description,omitempty"`
	Headers     map[string]*header `json:"headers,omitempty"`
	Content     content            `json:"content,omitempty"`
}

type header struct {
	Description string      `json:"description,omitempty"`
	Required    bool        `json:"required,omitempty"`
	Schema      *jsonSchema `json:"schema,omitempty"`
}

type components struct {
	Schemas         map[string]*jsonSchema `json:"schemas,omitempty"`
	Responses       map[string]*response   `json:"responses,omitempty"`
	Parameters      map[string]*parameter  `json:"parameters,omitempty"`
	SecuritySchemes object                 `json:"securitySchemes,omitempty"`

	types map[string]reflect.Type
}

// jsonSchema is a JSON Schema, draft 2020-12.
type jsonSchema struct {
	Ref                  string                 `json:"$ref,omitempty"`
	Type                 any                    `json:"type,omitempty"` // a string, or a list with "null"
	Description          string                 `json:"description,omitempty"`
	Format               string                 `json:"format,omitempty"`
	Const                any                    `json:"const,omitempty"`
	Enum                 []any                  `json:"enum,omitempty"`
	Default              any                    `json:"default,omitempty"`
	Minimum              *float64               `json:"minimum,omitempty"`
	ExclusiveMinimum     *float64               `json:"exclusiveMinimum,omitempty"`
	Maximum              *float64               `json:"maximum,omitempty"`
	ExclusiveMaximum     *float64               `json:"exclusiveMaximum,omitempty"`
	MinLength            *int                   `json:"minLength,omitempty"`
	MaxLength            *int                   `json:"maxLength,omitempty"`
	Pattern              string                 `json:"pattern,omitempty"`
	Items                *jsonSchema            `json:"items,omitempty"`
	MaxItems             *int                   `json:"maxItems,omitempty"`
	Properties           map[string]*jsonSchema `json:"properties,omitempty"`
	Required             []string               `json:"required,omitempty"`
	AdditionalProperties *jsonSchema            `json:"additionalProperties,omitempty"`
	AnyOf                []*jsonSchema          `json:"anyOf,omitempty"`
	OneOf                []*jsonSchema          `json:"oneOf,omitempty"`
}
