package jsontree

import "bytes"

// reader walks over a document. After the first error it stays put, and every step is a no-op.
type reader struct {
	in   []byte
	at   int
	keep func(string) bool
	err  *SyntaxError
}

func (r *reader) fail(msg string, offset int) {
	if r.err == nil {
		r.err = &SyntaxError{Msg: msg, Offset: offset}
	}
}

func (r *reader) space() {
	for r.at < len(r.in) {
		switch r.in[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return
		}
	}
}

// next is the byte at the reader, or 0 at the end (a NUL in the document is never valid either).
func (r *reader) next() byte {
	if r.err != nil || r.at >= len(r.in) {
		return 0
	}
	return r.in[r.at]
}

// value reads one value; when build is false it only checks the syntax.
func (r *reader) value(depth int, build bool) Value {
	if depth > MaxDepth {
		r.fail("Nesting is too deep", r.at)
	}
	switch c := r.next(); {
	case r.err != nil:
		return Value{}
	case c == '"':
		return r.text(build)
	case c == '{':
		return r.object(depth, build)
	case c == '[':
		return r.array(depth, build)
	case c == '-' || '0' <= c && c <= '9':
		return r.number(build)
	default:
		return r.word()
	}
}

// words are the literals of CPython's json module; the last two are not JSON, but accepted by it and then refused
// by the validation of numbers.
var words = []struct {
	literal string
	value   Value
}{
	{"null", Value{Kind: Null}},
	{"true", Value{Kind: Bool, Bool: true}},
	{"false", Value{Kind: Bool}},
	{"NaN", Value{Kind: Float, Text: "NaN"}},
	{"Infinity", Value{Kind: Float, Text: "Infinity"}},
}

func (r *reader) word() Value {
	for _, word := range words {
		if bytes.HasPrefix(r.in[r.at:], []byte(word.literal)) {
			r.at += len(word.literal)
			return word.value
		}
	}
	r.fail("Expecting value", r.at)
	return Value{}
}

func (r *reader) object(depth int, build bool) Value {
	object := Value{Kind: Object}
	r.at++
	r.space()
	if r.next() == '}' {
		r.at++
		return object
	}
	for r.err == nil {
		if r.next() != '"' {
			r.fail("Expecting property name enclosed in double quotes", r.at)
			break
		}
		key := r.text(build)
		r.space()
		if r.next() != ':' {
			r.fail("Expecting ':' delimiter", r.at)
			break
		}
		r.at++
		r.space()
		wanted := build && (depth > 0 || r.keep == nil || r.keep(key.Text))
		value := r.value(depth+1, wanted)
		if wanted && r.err == nil {
			object.Members = append(object.Members, Member{Key: key.Text, Value: value})
		}
		if r.closes('}') {
			return object
		}
	}
	return Value{}
}

func (r *reader) array(depth int, build bool) Value {
	array := Value{Kind: Array}
	r.at++
	r.space()
	if r.next() == ']' {
		r.at++
		return array
	}
	for r.err == nil {
		item := r.value(depth+1, build)
		if build && r.err == nil {
			array.Items = append(array.Items, item)
		}
		if r.closes(']') {
			return array
		}
	}
	return Value{}
}

// closes reads what follows a member or an item: the bracket, or a comma and the space behind it.
func (r *reader) closes(bracket byte) bool {
	r.space()
	switch r.next() {
	case bracket:
		if r.err == nil {
			r.at++
			return true
		}
	case ',':
		r.at++
		r.space()
	default:
		r.fail("Expecting ',' delimiter", r.at)
	}
	return false
}

// number reads the longest number at the reader, so that "01" fails behind the zero, as it does in CPython.
func (r *reader) number(build bool) Value {
	start, kind := r.at, Int
	if bytes.HasPrefix(r.in[r.at:], []byte("-Infinity")) {
		r.at += len("-Infinity")
		return Value{Kind: Float, Text: "-Infinity"}
	}
	if r.next() == '-' {
		r.at++
	}
	switch c := r.next(); {
	case c == '0':
		r.at++
	case '1' <= c && c <= '9':
		r.at += digits(r.in[r.at:])
	default:
		r.at = start
		r.fail("Expecting value", start)
		return Value{}
	}
	if n := digitsAfter(r.in[r.at:], '.'); n > 0 {
		kind = Float
		r.at += n
	}
	if n := exponent(r.in[r.at:]); n > 0 {
		kind = Float
		r.at += n
	}
	number := Value{Kind: kind}
	if build {
		number.Text = string(r.in[start:r.at])
	}
	return number
}

func digits(in []byte) int {
	n := 0
	for n < len(in) && '0' <= in[n] && in[n] <= '9' {
		n++
	}
	return n
}

// digitsAfter is the length of mark and the digits behind it, or 0 when there are none.
func digitsAfter(in []byte, mark byte) int {
	if len(in) == 0 || in[0] != mark {
		return 0
	}
	if n := digits(in[1:]); n > 0 {
		return 1 + n
	}
	return 0
}

func exponent(in []byte) int {
	if len(in) < 2 || in[0] != 'e' && in[0] != 'E' {
		return 0
	}
	sign := 0
	if in[1] == '+' || in[1] == '-' {
		sign = 1
	}
	if n := digits(in[1+sign:]); n > 0 {
		return 1 + sign + n
	}
	return 0
}
