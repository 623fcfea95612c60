package espeak

import (
	"strings"
	"unicode"
)

// Limits of the words that are passed to espeak-ng. Its word buffer holds 160 bytes; very long runs without a space
// are common to its crashes.
const (
	maxWordRunes = 60
	maxWordBytes = 120
)

// cleanText replaces what espeak-ng interprets as commands (control characters, its private use characters) with
// spaces, one for one so that positions remain valid, and cuts very long words with added spaces, whose code point
// indices it returns.
func cleanText(text []rune) (cleaned string, breaks []uint32) {
	var out strings.Builder
	out.Grow(len(text) + 1)
	var position uint32
	runes, bytes := 0, 0 // of the word
	for _, r := range text {
		if !isFit(r) {
			r = ' '
		}
		if unicode.IsSpace(r) {
			runes, bytes = 0, 0
		} else if runes++; runes > maxWordRunes || bytes > maxWordBytes {
			out.WriteByte(' ')
			breaks = append(breaks, position)
			position++
			runes, bytes = 1, 0
		}
		n, _ := out.WriteRune(r)
		bytes += n
		position++
	}
	return out.String(), breaks
}

func isFit(r rune) bool {
	switch {
	case r == '\n':
		return true
	case unicode.IsControl(r), unicode.Is(unicode.Co, r), r == unicode.ReplacementChar:
		return false
	case r&0xFFFE == 0xFFFE, r >= 0xFDD0 && r <= 0xFDEF: // noncharacters
		return false
	}
	return true
}
