package flite

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxWordRunes is the length of the longest word for flite, which takes quadratic time.
const maxWordRunes = 40

// toASCII converts a text to ASCII, one byte per code point so that positions remain valid: letters lose their
// accents, and characters without an equivalent become spaces. flite supports no other characters.
func toASCII(text []rune) []byte {
	out := make([]byte, len(text))
	for i, r := range text {
		out[i] = asciiOf(r)
	}
	return out
}

func asciiOf(r rune) byte {
	switch {
	case r == '\n':
		return '\n'
	case r < ' ' || r == 0x7f:
		return ' '
	case r < unicode.MaxASCII:
		return byte(r)
	}
	for _, likeness := range []struct {
		runes string
		ascii byte
	}{
		{"‘’ʼ′", '\''}, {"“”„«»″", '"'}, {"–—−‐‑", '-'}, {"…。", '.'}, {"，、", ','}, {"！", '!'}, {"？", '?'}, {"；", ';'},
		{"：", ':'},
		{"ßẞ", 's'}, {"æÆ", 'e'}, {"øØœŒ", 'o'}, {"łŁ", 'l'}, {"đĐðÐ", 'd'}, {"þÞ", 't'}, {"ı", 'i'},
	} {
		if strings.ContainsRune(likeness.runes, r) {
			return likeness.ascii
		}
	}
	if base := []rune(norm.NFKD.String(string(r)))[0]; base < unicode.MaxASCII && base >= ' ' {
		return byte(base)
	}
	if unicode.IsDigit(r) {
		return digitOf(r)
	}
	return ' '
}

// digitOf returns the ASCII digit for a decimal digit of any script. In Unicode, the digits of a script are contiguous
// from 0 to 9.
func digitOf(r rune) byte {
	value := 0
	for value < 9 && unicode.IsDigit(r-rune(value)-1) {
		value++
	}
	return '0' + byte(value%10)
}

// harmless reduces a text that crashed flite to letters, digits and simple punctuation, without long words.
func harmless(text []byte) {
	word := 0
	for i, b := range text {
		letter := b < unicode.MaxASCII && (unicode.IsLetter(rune(b)) || unicode.IsDigit(rune(b)))
		if word++; !letter || word > maxWordRunes {
			word = 0
		}
		if !letter && b != '.' && b != ',' && b != '?' && b != '!' && b != '\'' || word == 0 && letter {
			text[i] = ' '
		}
	}
}
