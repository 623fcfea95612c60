package flite

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxWordRunes is how long a word may be for flite, whose time grows with the square of it.
const maxWordRunes = 40

// toASCII turns a text into ASCII, a byte for each code point so that positions stay: letters lose their accents, what
// has no likeness becomes a space. flite knows no other characters.
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
		{"‘’ʼ′", '\''}, {"“”„«»″", '"'}, {"–—−‐‑", '-'}, {"…。", '.'}, {"，、", ','}, {"！", '!'}, {"？", '?'}, {"；", ';'}, {"：", ':'},
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

// digitOf is the value of a decimal digit of any script: Unicode keeps those of a script together, from 0 to 9.
func digitOf(r rune) byte {
	value := 0
	for value < 9 && unicode.IsDigit(r-rune(value)-1) {
		value++
	}
	return '0' + byte(value%10)
}

// harmless leaves only letters, digits and simple punctuation, and no long words: what a text is reduced to that flite
// has died of.
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
