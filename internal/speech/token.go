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
	tokenSymbol // may be spoken by its name, such as "%"
	tokenWord
)

// token is an element of a list of timings.
type token struct {
	kind  tokenKind
	text  string
	runes int
}

// tokenize splits a text into words, white space, punctuation and symbols. In scripts without spaces between words,
// an ideograph, a kana or a syllable is a word.
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

// belongsTo reports whether a character continues a token; rest is the text after it.
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
	case isSpaceless(r) && beginsSyllable(t.text, r, rest):
		return false
	case kind == tokenWord:
		return true
	}
	return joinsWord(t.text, r, rest)
}

// joinsWord reports whether punctuation is part of a word, or ends an abbreviation: "isn't", "3.14", "1,000", "e.g.".
func joinsWord(before string, r rune, rest string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	next, size := utf8.DecodeRuneInString(rest)
	if strings.ContainsRune("'’ʼ", r) {
		return unicode.IsLetter(last) && unicode.IsLetter(next)
	}
	if r == '.' && isDotted(before) {
		return strings.Contains(before, ".") || unicode.IsLetter(next) && strings.HasPrefix(rest[size:], ".")
	}
	return strings.ContainsRune(".,:٫٬", r) && unicode.IsDigit(last) && unicode.IsDigit(next)
}

// isDotted reports whether a word is one letter, or letters with full stops between them: "e", "e.g", "U.S.A".
func isDotted(word string) bool {
	for {
		r, size := utf8.DecodeRuneInString(word)
		if !unicode.IsLetter(r) {
			return false
		}
		if word = word[size:]; word == "" {
			return true
		}
		if word[0] != '.' {
			return false
		}
		word = word[1:]
	}
}

// isSpaceless reports whether a character is of a script that has no spaces between words and spells syllables.
func isSpaceless(r rune) bool { return unicode.In(r, unicode.Thai, unicode.Lao, unicode.Myanmar) }

// The vowels of Thai and Lao that are written before and after their consonant, and the characters that join consonants
// in Burmese (Unicode 15, chapter 16).
const (
	leadingVowels  = "เแโใไເແໂໃໄ"
	trailingVowels = "ะาำๅະາຳ"
	burmeseVirama  = '\u1039'
	burmeseAsat    = '\u103a'
)

// beginsSyllable reports whether a letter of such a script begins a new word after a text.
func beginsSyllable(before string, r rune, rest string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(rest)
	return !strings.ContainsRune(leadingVowels, last) && !strings.ContainsRune(trailingVowels, r) &&
		last != burmeseVirama && next != burmeseAsat && next != burmeseVirama && !unicode.IsNumber(r)
}

func isIdeographic(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

func endsIdeographic(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return isIdeographic(r)
}
