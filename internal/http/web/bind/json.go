package bind

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Kind is the kind of a Value.
type Kind uint8

// The kinds. As in pydantic, literals distinguish Int and Float.
const (
	Null Kind = iota
	Bool
	Int
	Float
	String
	Array
	JSONObject
)

// Value is a JSON value, or a text from another source.
type Value struct {
	Kind    Kind
	Text    string // of a String, decoded; of a number or Bool, its literal
	BadText bool   // a String with invalid UTF-8 or a lone surrogate

	raw   json.RawMessage // of an Array or an Object
	items []Value         // of an Array from repeated names
}

// textValue returns a string from outside JSON, where only its bytes can be invalid.
func textValue(text string) Value {
	return Value{Kind: String, Text: text, BadText: !utf8.ValidString(text)}
}

// listValue returns an array of the texts of a repeated name.
func listValue(texts []string) Value {
	list := Value{Kind: Array}
	for _, text := range texts {
		list.items = append(list.items, textValue(text))
	}
	return list
}

// valueOf reads valid JSON.
func valueOf(raw json.RawMessage) Value {
	switch raw[0] {
	case 'n':
		return Value{}
	case 't', 'f':
		return Value{Kind: Bool, Text: string(raw)}
	case '{':
		return Value{Kind: JSONObject, raw: raw}
	case '[':
		return Value{Kind: Array, raw: raw}
	case '"':
		v := Value{Kind: String, BadText: !utf8.Valid(raw) || hasLoneSurrogate(raw)}
		_ = json.Unmarshal(raw, &v.Text) // it is valid
		return v
	}
	kind := Int
	if bytes.ContainsAny(raw, ".eE") {
		kind = Float
	}
	return Value{Kind: kind, Text: string(raw)}
}

// hasLoneSurrogate reports whether a string has an escape of half a character, which encoding/json would replace.
func hasLoneSurrogate(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		unit := escapedUnit(raw[i:])
		switch {
		case !utf16.IsSurrogate(unit):
			i++
		case utf16.DecodeRune(unit, escapedUnit(raw[i+6:])) == utf8.RuneError:
			return true
		default:
			i += 11
		}
	}
	return false
}

// escapedUnit returns the UTF-16 code unit of an escape such as \u00e4, or 0 if there is none.
func escapedUnit(raw []byte) rune {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0
	}
	unit, _ := strconv.ParseUint(string(raw[2:6]), 16, 16)
	return rune(unit)
}

// Items returns the elements of an Array.
func (v Value) Items() []Value {
	if v.items != nil {
		return v.items
	}
	var elements []json.RawMessage
	_ = json.Unmarshal(v.raw, &elements) // it is valid
	items := make([]Value, len(elements))
	for i, element := range elements {
		items[i] = valueOf(element)
	}
	return items
}

// member returns a member of a JSONObject, or Null if it is absent.
func (v Value) member(key string) Value {
	var object Object
	_ = json.Unmarshal(v.raw, &object) // it is valid
	value, _ := object.Get(key)
	return value
}

// Object is a JSON object. Its members are decoded on demand.
type Object map[string]json.RawMessage

// Get returns the value of a member.
func (o Object) Get(key string) (Value, bool) {
	raw, ok := o[key]
	if !ok {
		return Value{}, false
	}
	return valueOf(raw), true
}

// SyntaxError means that a document is not JSON.
type SyntaxError struct {
	Msg    string // as in Python's json module, such as "Expecting value"
	Offset int    // in bytes
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.Msg, e.Offset) }

// ErrNoObject means that a document is JSON, but not an object.
var ErrNoObject = errors.New("not a JSON object")

// ParseObject reads a document, with or without a byte order mark. Errors: *SyntaxError, ErrNoObject.
func ParseObject(document []byte) (object Object, err error) {
	text := bytes.TrimPrefix(document, []byte("\xef\xbb\xbf"))
	err = json.Unmarshal(text, &object)
	switch _, syntax := errors.AsType[*json.SyntaxError](err); {
	case syntax:
		return nil, explainSyntax(text, len(document)-len(text))
	case err != nil || object == nil:
		return nil, ErrNoObject
	}
	return object, nil
}

// pythonErrors maps messages of encoding/json to those of Python's json module.
var pythonErrors = []struct{ goText, python string }{
	{"after top-level value", "Extra data"},
	{"beginning of object key string", "Expecting property name enclosed in double quotes"},
	{"after object key:value pair", "Expecting ',' delimiter"},
	{"after array element", "Expecting ',' delimiter"},
	{"after object key", "Expecting ':' delimiter"},
	{"in string literal", "Invalid control character at"},
	{"in string escape code", `Invalid \escape`},
	{`in \u hexadecimal character escape`, `Invalid \uXXXX escape`},
}

// explainSyntax returns the position and Python's message of a syntax error. It appends an invalid character, so that
// encoding/json reports the expected token even if a document ends too early.
func explainSyntax(document []byte, skipped int) *SyntaxError {
	err := json.Unmarshal(append(bytes.Clone(document), 1), new(json.RawMessage))
	wrong, _ := errors.AsType[*json.SyntaxError](err)
	explained := &SyntaxError{Msg: "Expecting value", Offset: skipped + int(wrong.Offset) - 1}
	for _, known := range pythonErrors {
		if strings.Contains(wrong.Error(), known.goText) {
			explained.Msg = known.python
			break
		}
	}
	if explained.Offset == skipped+len(document) && strings.Contains(wrong.Error(), " in string") {
		explained.Msg = "Unterminated string"
	}
	return explained
}
