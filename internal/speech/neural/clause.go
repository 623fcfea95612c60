package neural

import (
	"slices"
	"strings"
	"unicode"

	"github.com/recital-tts/recital/internal/speech"
)

// clause is a part of a job's text that ends with a punctuation mark, or with its phrase.
type clause struct {
	start, runes int
	phrase       speech.Phrase // the phrase that it belongs to
	language     string        // language of its pronunciation
	spelt        bool          // its script determines the pronunciation of all its words
	ends         bool          // it is the last clause of its phrase
	mark         rune          // its punctuation in the form that models know: , ; : . ? or !; 0 for none
	words        []word
}

// word is a word or a syllable.
type word struct {
	rune     int    // index of its first code point in the job's text
	spelling string // first in the International Phonetic Alphabet, later in the symbols of the voice
}

// endsSentence reports whether the clause is the last one of a sentence.
func (c clause) endsSentence() bool { return c.mark == '.' || c.mark == '?' || c.mark == '!' }

// pause returns the seconds of silence after the clause at speed 1, or speech.OwnPause if the model determines them.
func (c clause) pause() float64 {
	if !c.ends {
		return speech.OwnPause
	}
	return c.phrase.Pause
}

// marks maps the characters that end clauses to the punctuation that models know.
var marks = strings.NewReplacer("…", ".", "。", ".", "！", "!", "？", "?", "，", ",", "、", ",", "；", ";", "：", ":",
	"—", ",", "–", ",")

// cutClauses cuts a text into clauses at the ends of phrases. A phrase whose pause the model determines is also cut
// after punctuation that white space follows.
func cutClauses(text []rune, phrases []speech.Phrase) (clauses []clause) {
	start := 0
	for i, p := range phrases {
		end := min(start+p.Runes, len(text))
		if i == len(phrases)-1 {
			end = len(text)
		}
		for at := start; at < end; {
			length, mark := nextClause(text[at:end])
			if p.Pause != speech.OwnPause {
				length, mark = end-at, lastMark(text[at:end])
			}
			clauses = append(clauses, clause{start: at, runes: length, phrase: p, mark: mark, ends: at+length == end})
			at += length
		}
		start = end
	}
	return clauses
}

// markOf returns the punctuation that models know for a character, or 0 if it does not end clauses.
func markOf(r rune) rune {
	known := []rune(marks.Replace(string(r)))[0]
	if !strings.ContainsRune(",;:.?!", known) {
		return 0
	}
	return known
}

// nextClause returns the length of a text's first clause, including the white space after it.
func nextClause(text []rune) (length int, mark rune) {
	for i, r := range text {
		if mark = markOf(r); mark == 0 {
			continue
		}
		end := i + 1
		for end < len(text) && isCloser(text[end]) {
			end++
		}
		if end < len(text) && !unicode.IsSpace(text[end]) && r < unicode.MaxASCII {
			continue
		}
		for end < len(text) && unicode.IsSpace(text[end]) {
			end++
		}
		return end, mark
	}
	return len(text), 0
}

// isCloser reports whether a character belongs to the punctuation before it.
func isCloser(r rune) bool {
	return unicode.In(r, unicode.Pe, unicode.Pf) || strings.ContainsRune(`"'.?!…`, r)
}

// lastMark returns the punctuation mark at the end of a text, or 0 if there is none.
func lastMark(text []rune) rune {
	for _, r := range slices.Backward(text) {
		if mark := markOf(r); mark != 0 || unicode.IsLetter(r) || unicode.IsNumber(r) {
			return mark
		}
	}
	return 0
}
