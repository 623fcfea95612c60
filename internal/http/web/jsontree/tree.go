// Package jsontree parses JSON into a tree that keeps what encoding/json discards: strings that are not valid Unicode
// are marked instead of silently replaced, integers and floats are distinct, and syntax errors carry the text and the
// byte offset of CPython's json module, which clients of FastAPI servers expect.
package jsontree

import "fmt"

// Kind says what a Value is.
type Kind uint8

// The kinds of values. Int and Float are apart because `1` and `1.0` are validated differently.
const (
	Null Kind = iota
	Bool
	Int
	Float
	String
	Array
	Object
)

// Value is one JSON value.
type Value struct {
	Kind    Kind
	Bool    bool     // of a Bool
	BadText bool     // a String with invalid UTF-8 or a lone surrogate; Text then holds replacements
	Text    string   // of a String, decoded; of a number, its literal (NaN, Infinity and -Infinity included)
	Items   []Value  // of an Array
	Members []Member // of an Object, in the order of the document
}

// Member is one key of an object with its value.
type Member struct {
	Key   string
	Value Value
}

// Get finds the value of a key. The last of several equal keys wins, as in every common decoder.
func (v *Value) Get(key string) (*Value, bool) {
	for i := len(v.Members) - 1; i >= 0; i-- {
		if v.Members[i].Key == key {
			return &v.Members[i].Value, true
		}
	}
	return nil, false
}

// SyntaxError is a document that is not JSON.
type SyntaxError struct {
	Msg    string // CPython's words, such as "Expecting value"
	Offset int    // in bytes
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.Msg, e.Offset) }

// MaxDepth is how deep arrays and objects may nest.
const MaxDepth = 200

// Parse reads one document. Of the top-level object only the members whose key keep accepts are built, so that
// unknown members cost no memory; a nil keep accepts all. The error is always a *SyntaxError.
func Parse(document []byte, keep func(key string) bool) (Value, error) {
	r := reader{in: document, keep: keep}
	if len(document) >= 3 && string(document[:3]) == "\xef\xbb\xbf" {
		r.at = 3
	}
	r.space()
	value := r.value(0, true)
	r.space()
	if r.err == nil && r.at != len(r.in) {
		r.fail("Extra data", r.at)
	}
	if r.err != nil {
		return Value{}, r.err
	}
	return value, nil
}
