package bind

import (
	"fmt"
	"strconv"
	"strings"
)

// Item is one entry of the `detail` list of a 422, in FastAPI's form of pydantic's errors. The input
// itself is left out, because it echoes texts and keys.
type Item struct {
	Type string         `json:"type"`
	Loc  []any          `json:"loc"`
	Msg  string         `json:"msg"`
	Ctx  map[string]any `json:"ctx,omitempty"`
}

// Field names the item's place in the words of the 1.0 dialect: the location without its source ("speed",
// "tags.1"), or the source alone ("body") where the whole of it is wrong.
func (i Item) Field() string {
	if len(i.Loc) == 0 {
		return ""
	}
	first, _ := i.Loc[0].(string)
	if len(i.Loc) == 1 || i.Type == "json_invalid" {
		return first
	}
	var parts []string
	for _, part := range i.Loc[1:] {
		switch part := part.(type) {
		case string:
			parts = append(parts, part)
		case int:
			parts = append(parts, strconv.Itoa(part))
		}
	}
	return strings.Join(parts, ".")
}

// fault is an Item without its place.
type fault struct {
	kind string
	msg  string
	ctx  map[string]any
}

func (f *fault) at(loc ...any) Item { return Item{Type: f.kind, Loc: loc, Msg: f.msg, Ctx: f.ctx} }

func simple(kind, msg string) *fault { return &fault{kind: kind, msg: msg} }

// The texts are those of pydantic 2.13; testdata/pydantic.json, made by pydantic itself, proves it.

func missing() *fault    { return simple("missing", "Field required") }
func stringType() *fault { return simple("string_type", "Input should be a valid string") }
func intType() *fault    { return simple("int_type", "Input should be a valid integer") }
func floatType() *fault  { return simple("float_type", "Input should be a valid number") }
func boolType() *fault   { return simple("bool_type", "Input should be a valid boolean") }
func listType() *fault   { return simple("list_type", "Input should be a valid list") }
func dictType() *fault   { return simple("dict_type", "Input should be a valid dictionary") }
func bytesType() *fault  { return simple("bytes_type", "Input should be a valid bytes") }
func urlType() *fault    { return simple("url_type", "URL input should be a string or URL") }
func notFinite() *fault  { return simple("finite_number", "Input should be a finite number") }
func boolParsing() *fault {
	return simple("bool_parsing", boolType().msg+", unable to interpret input")
}

func stringUnicode() *fault {
	return simple("string_unicode", stringType().msg+", unable to parse raw data as a unicode string")
}

func intParsing() *fault {
	return simple("int_parsing", intType().msg+", unable to parse string as an integer")
}

func intFromFloat() *fault {
	return simple("int_from_float", intType().msg+", got a number with a fractional part")
}

func intParsingSize() *fault {
	return simple("int_parsing_size", "Unable to parse input string as an integer, exceeded maximum size")
}

func floatParsing() *fault {
	return simple("float_parsing", floatType().msg+", unable to parse string as a number")
}

func notAnObject() *fault {
	return simple("model_attributes_type", "Input should be a valid dictionary or object to extract fields from")
}

func notAFile() *fault {
	return valueError("Expected UploadFile, received: <class 'str'>")
}

// valueError is the fault of a check that pydantic leaves to others.
func valueError(why string) *fault {
	return &fault{kind: "value_error", msg: "Value error, " + why, ctx: map[string]any{"error": why}}
}

func tooMany(limit, items int) *fault {
	return &fault{
		kind: "too_long", msg: fmt.Sprintf("List should have at most %d items after validation, not %d", limit, items),
		ctx: map[string]any{"field_type": "List", "max_length": limit, "actual_length": items},
	}
}

func jsonInvalid(why string) *fault {
	return &fault{kind: "json_invalid", msg: "JSON decode error", ctx: map[string]any{"error": why}}
}

func urlParsing(why string) *fault {
	return &fault{kind: "url_parsing", msg: "Input should be a valid URL, " + why, ctx: map[string]any{"error": why}}
}

func urlScheme() *fault {
	const schemes = "'http' or 'https'"
	return &fault{
		kind: "url_scheme", msg: "URL scheme should be " + schemes, ctx: map[string]any{"expected_schemes": schemes},
	}
}

func urlTooLong(limit int) *fault {
	return &fault{
		kind: "url_too_long", msg: "URL should have at most " + characters(limit), ctx: map[string]any{"max_length": limit},
	}
}

func tooShort(limit int) *fault {
	return &fault{
		kind: "string_too_short", msg: "String should have at least " + characters(limit),
		ctx: map[string]any{"min_length": limit},
	}
}

func tooLong(limit int) *fault {
	return &fault{
		kind: "string_too_long", msg: "String should have at most " + characters(limit),
		ctx: map[string]any{"max_length": limit},
	}
}

func characters(n int) string {
	if n == 1 {
		return "1 character"
	}
	return strconv.Itoa(n) + " characters"
}

func patternMismatch(pattern string) *fault {
	return &fault{
		kind: "string_pattern_mismatch", msg: "String should match pattern '" + pattern + "'",
		ctx: map[string]any{"pattern": pattern},
	}
}

// outOfSet is the fault of a literal ("literal_error") or of an enumeration ("enum").
func outOfSet(kind, expected string) *fault {
	return &fault{kind: kind, msg: "Input should be " + expected, ctx: map[string]any{"expected": expected}}
}

// alternatives joins choices as pydantic does: "'a', 'b' or 'c'".
func alternatives(choices []string, quote string) string {
	quoted := make([]string, len(choices))
	for i, choice := range choices {
		quoted[i] = quote + choice + quote
	}
	last := len(quoted) - 1
	if last == 0 {
		return quoted[0]
	}
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}
