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

// The kinds. Int and Float are told apart by their literals, as pydantic does it.
const (
	Null Kind = iota
	Bool
	Int
	Float
	String
	Array
	JSONObject
)

// Value is a JSON value, or a text from elsewhere.
type Value struct {
	Kind    Kind
	Text    string // of a String, decoded; of a number or Bool, its literal
	BadText bool   // a String with invalid UTF-8 or a lone surrogate

	raw   json.RawMessage // of an Array or an Object
	items []Value         // of an Array that came as repeated names
}

// textValue is a string that came outside JSON, where text can only be wrong by its bytes.
func textValue(text string) Value {
	return Value{Kind: String, Text: text, BadText: !utf8.ValidString(text)}
}

// listValue is an array of texts that came as repeated names.
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

// hasLoneSurrogate looks for escapes of half a character, which encoding/json replaces.
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

// escapedUnit is the UTF-16 code unit of an escape such as \u00e4, 0 where there is none.
func escapedUnit(raw []byte) rune {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0
	}
	unit, _ := strconv.ParseUint(string(raw[2:6]), 16, 16)
	return rune(unit)
}

// Items are the elements of an Array.
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

// member returns a member of a JSONObject, a Null if it is absent.
func (v Value) member(key string) Value {
	var object Object
	_ = json.Unmarshal(v.raw, &object) // it is valid
	value, _ := object.Get(key)
	return value
}

// Object is a JSON object. Its members are decoded when they are asked for.
type Object map[string]json.RawMessage

// Get returns the value of a member.
func (o Object) Get(key string) (Value, bool) {
	raw, ok := o[key]
	if !ok {
		return Value{}, false
	}
	return valueOf(raw), true
}

// SyntaxError is a document that is not JSON.
type SyntaxError struct {
	Msg    string // as Python's json module puts it, such as "Expecting value"
	Offset int    // in bytes
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.Msg, e.Offset) }

// ErrNoObject means that a document is JSON, but no object.
var ErrNoObject = errors.New("not a JSON object")

// ParseObject reads a document, with or without a byte order mark. Errors: *SyntaxError, ErrNoObject.
func ParseObject(document []byte) (object Object, err error) {
	text := bytes.TrimPrefix(document, []byte("\xef\xbb\xbf"))
	err = json.Unmarshal(text, &object)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
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

// explainSyntax finds the place of an error. A character at the end that is wrong everywhere makes encoding/json report
// the expected token even if a document ends too early.
func explainSyntax(document []byte, skipped int) *SyntaxError {
	var wrong *json.SyntaxError
	errors.As(json.Unmarshal(append(bytes.Clone(document), 1), new(json.RawMessage)), &wrong)
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
