package speech

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type tokenKind int

const (
	tokenSpace tokenKind = iota
	tokenPunctuation
	tokenSymbol // may be said by its name, such as "%"
	tokenWord
)

// token is an element of a list of timings.
type token struct {
	kind  tokenKind
	text  string
	runes int
}

// tokenize cuts a text into words, white space, punctuation and symbols. An ideograph or kana is a word of its own.
func tokenize(text string) []token {
	var tokens []token
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		n := len(tokens)
		if n > 0 && belongsTo(tokens[n-1], r, text[at+size:]) {
			tokens[n-1].text = text[at-len(tokens[n-1].text) : at+size]
			tokens[n-1].runes++
		} else {
			tokens = append(tokens, token{kind: kindOf(r), text: text[at : at+size], runes: 1})
		}
		at += size
	}
	return tokens
}

func kindOf(r rune) tokenKind {
	switch {
	case unicode.IsSpace(r):
		return tokenSpace
	case unicode.IsLetter(r), unicode.IsNumber(r), unicode.IsMark(r):
		return tokenWord
	case isSymbol(r):
		return tokenSymbol
	default:
		return tokenPunctuation
	}
}

// belongsTo tells whether a character continues a token; rest is the text after it.
func belongsTo(t token, r rune, rest string) bool {
	kind := kindOf(r)
	switch {
	case t.kind == tokenSpace:
		return kind == tokenSpace
	case unicode.IsMark(r), unicode.Is(unicode.Cf, r):
		return true
	case t.kind != tokenWord:
		return kind == t.kind
	case isIdeographic(r), r != 'ー' && endsIdeographic(t.text):
		return false
	case kind == tokenWord:
		return true
	}
	return joinsWord(t.text, r, rest)
}

// joinsWord tells whether punctuation stands inside a word: "isn't", "3.14", "1,000".
func joinsWord(before string, r rune, rest string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(rest)
	if strings.ContainsRune("'’ʼ", r) {
		return unicode.IsLetter(last) && unicode.IsLetter(next)
	}
	return strings.ContainsRune(".,:٫٬", r) && unicode.IsDigit(last) && unicode.IsDigit(next)
}

func isIdeographic(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

func endsIdeographic(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return isIdeographic(r)
}
