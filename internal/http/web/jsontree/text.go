package jsontree

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// text reads a string. Most strings hold no escape and become one copy of their bytes.
func (r *reader) text(build bool) Value {
	open := r.at
	r.at++
	plain := r.at
	escaped := false
	for r.at < len(r.in) {
		switch c := r.in[r.at]; {
		case c == '"':
			raw := r.in[plain:r.at]
			r.at++
			if !build {
				return Value{Kind: String}
			}
			return decode(raw, escaped)
		case c < 0x20:
			r.fail("Invalid control character at", r.at)
			return Value{}
		case c == '\\':
			escaped = true
			if !r.escape(open) {
				return Value{}
			}
		default:
			r.at++
		}
	}
	r.fail("Unterminated string starting at", open)
	return Value{}
}

// escape steps over one escape sequence.
func (r *reader) escape(open int) bool {
	backslash := r.at
	r.at++
	if r.at >= len(r.in) {
		r.fail("Unterminated string starting at", open)
		return false
	}
	switch r.in[r.at] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		r.at++
		return true
	case 'u':
		if _, ok := hex4(r.in[r.at+1:]); !ok {
			r.fail(`Invalid \uXXXX escape`, r.at)
			return false
		}
		r.at += 5
		return true
	}
	r.fail(`Invalid \escape`, backslash)
	return false
}

// decode makes the Value of a string whose syntax has been checked.
func decode(raw []byte, escaped bool) Value {
	value := Value{Kind: String, BadText: !utf8.Valid(raw)}
	if !escaped {
		value.Text = string(raw)
		if value.BadText {
			value.Text = strings.ToValidUTF8(value.Text, "\ufffd")
		}
		return value
	}
	var out strings.Builder
	out.Grow(len(raw))
	for len(raw) > 0 {
		backslash := bytes.IndexByte(raw, '\\')
		if backslash < 0 {
			out.Write(raw)
			break
		}
		out.Write(raw[:backslash])
		char, size := unescape(raw[backslash:])
		if char < 0 {
			value.BadText = true
			char = utf8.RuneError
		}
		out.WriteRune(char)
		raw = raw[backslash+size:]
	}
	value.Text = out.String()
	if value.BadText {
		value.Text = strings.ToValidUTF8(value.Text, "\ufffd")
	}
	return value
}

// unescape decodes the escape at the start of raw; a lone surrogate is -1.
func unescape(raw []byte) (char rune, size int) {
	switch raw[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		return unescapeUnicode(raw)
	}
	return rune(raw[1]), 2
}

func unescapeUnicode(raw []byte) (char rune, size int) {
	char, _ = hex4(raw[2:])
	if !utf16.IsSurrogate(char) {
		return char, 6
	}
	if len(raw) >= 12 && raw[6] == '\\' && raw[7] == 'u' {
		low, _ := hex4(raw[8:])
		if pair := utf16.DecodeRune(char, low); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return -1, 6
}

func hex4(in []byte) (rune, bool) {
	if len(in) < 4 {
		return 0, false
	}
	var n rune
	for _, c := range in[:4] {
		switch {
		case '0' <= c && c <= '9':
			n = n<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			n = n<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			n = n<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return n, true
}
