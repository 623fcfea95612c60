package espeak

import (
	"strings"
	"unicode"
)

// Limits of the lengths of words and of runs of one punctuation mark in a text that is not risky.
const (
	plainWordRunes  = 40
	plainRepetition = 3
)

// isRisky reports whether a text needs a rehearsal. According to fuzzing, espeak-ng 1.51 crashes on foreign scripts and
// letters (it changes its phoneme table within a clause), very long words, and some combinations in Indic languages. A
// plain text in the language's own letters needs none.
func isRisky(language, text string) bool {
	letters := plainLetters[language]
	if letters == nil {
		return true
	}
	word, repeated := 0, 0
	var previous rune
	for _, r := range text {
		if !isPlain(r, letters) {
			return true
		}
		word, repeated = word+1, repeated+1
		if r == ' ' || r == '\n' {
			word = 0
		}
		if r != previous || r == ' ' {
			repeated = 1
		}
		if word > plainWordRunes || repeated > plainRepetition {
			return true
		}
		previous = r
	}
	return false
}

func isPlain(r rune, letters *unicode.RangeTable) bool {
	switch {
	case r < unicode.MaxASCII && !unicode.IsLetter(r):
		return r >= ' ' || r == '\n'
	case strings.ContainsRune("’‘“”„«»–—…¿¡。，、！？；：「」،؛؟·", r):
		return true
	}
	return unicode.Is(letters, r)
}
