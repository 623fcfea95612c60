// Package japanese reads Japanese text: it converts the morphemes of an analyser into katakana as it is pronounced.
// Numbers with their counters, and some words, are read by tables. The analyser's dictionary is large, so this runs in
// a process of its own (cmd/japanesereader), which recitald asks (subpackage reader).
package japanese

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Class determines which morphemes are one word in speech.
type Class int

// The classes of morphemes.
const (
	Word      Class = iota // begins a word
	Inflected              // a verb or an adjective: begins a word, which endings continue
	Ending                 // continues a verb, an adjective or another ending
	Suffix                 // continues a word
	Counter                // continues a number
	Prefix                 // begins a word that the next morpheme continues
	Numeral                // begins a word; a part of a number
	Symbol                 // has no sound
)

// Morpheme is a part of a text as an analyser has found it.
type Morpheme struct {
	Surface       string
	Pronunciation string // in katakana, with ー for long vowels; "" if it is unknown
	Class         Class
}

// Reading is a word, or the text between words, and its replacement for an engine.
type Reading struct {
	Original string `json:"original"`
	Spoken   string `json:"spoken"` // begins with a space if it is a word, and is the original if it is not
}

// Read returns the readings of a text. Their originals, concatenated, are the text. The surfaces of the morphemes that
// analyse returns, concatenated, have to be the text that it is called with.
func Read(text string, analyse func(string) []Morpheme) []Reading {
	r := reader{written: []rune(text), last: Symbol}
	if utf8.ValidString(text) && r.split(analyse) {
		r.read()
		return r.out
	}
	return []Reading{{Original: text, Spoken: text}}
}

// reader makes the readings of a text, from left to right.
type reader struct {
	written   []rune
	text      []rune // as long, with the narrow forms of wide letters, digits and some signs
	morphemes []Morpheme
	starts    []int // the position of each morpheme, and the end of the text
	at        int   // the position up to which there are readings
	out       []Reading
	last      Class // of the last morpheme
}

// split analyses the text, and reports whether the morphemes add up to it.
func (r *reader) split(analyse func(string) []Morpheme) bool {
	r.text = narrow(r.written)
	for _, m := range analyse(string(r.text)) {
		r.morphemes = append(r.morphemes, apart(m)...)
	}
	at := 0
	for _, m := range r.morphemes {
		r.starts = append(r.starts, at)
		at += utf8.RuneCountInString(m.Surface)
	}
	r.starts = append(r.starts, at)
	return at == len(r.text)
}

// apart returns the signs of a morpheme that consists of them one by one: %〜 are two.
func apart(m Morpheme) []Morpheme {
	if strings.ContainsFunc(m.Surface, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }) {
		return []Morpheme{m}
	}
	var signs []Morpheme
	for _, c := range m.Surface {
		signs = append(signs, Morpheme{Surface: string(c), Class: m.Class})
	}
	if len(signs) == 1 {
		signs[0].Pronunciation = m.Pronunciation // of ％ and its like
	}
	return signs
}

// narrow returns a text with the narrow forms of letters, digits and the signs of numbers. Other marks stay: the
// analyser knows their wide forms.
func narrow(written []rune) []rune {
	text := slices.Clone(written)
	for i, c := range text {
		switch {
		case c >= '０' && c <= '９', c >= 'Ａ' && c <= 'Ｚ', c >= 'ａ' && c <= 'ｚ', strings.ContainsRune("％：／－＋＄", c):
			text[i] = c - '！' + '!'
		case c == '￥':
			text[i] = '¥'
		}
	}
	return text
}

func (r *reader) read() {
	for i := 0; i < len(r.morphemes); {
		if !r.readWord() && !r.readNumber(r.morphemes[i].Class) {
			r.readMorpheme(r.morphemes[i], r.starts[i+1])
		}
		for i < len(r.morphemes) && r.starts[i] < r.at {
			i++
		}
	}
}

// readWord reads the longest word of the table that begins at the position.
func (r *reader) readWord() bool {
	all := words()
	for end := min(r.at+all.longest, len(r.text)); end > r.at; end-- {
		word := string(r.text[r.at:end])
		spoken, ok := all.readings[word]
		if other := all.readings[word+"~"]; other != "" && r.isInflectedAt(end) {
			spoken, ok = other, true
		}
		if ok && r.isBorder(end) {
			r.add(end, spoken, Word)
			return true
		}
	}
	return false
}

// isInflectedAt reports whether a verb or an adjective begins at a position.
func (r *reader) isInflectedAt(at int) bool {
	i, found := slices.BinarySearch(r.starts, at)
	return found && i < len(r.morphemes) && r.morphemes[i].Class == Inflected
}

// isBorder reports whether a morpheme begins at a position, or the text ends there.
func (r *reader) isBorder(at int) bool {
	_, found := slices.BinarySearch(r.starts, at)
	return found
}

func (r *reader) readMorpheme(m Morpheme, end int) {
	switch {
	case m.Class == Symbol || !strings.ContainsFunc(m.Surface, isSounded):
		r.add(end, "", Symbol)
	case m.Pronunciation == "":
		r.add(end, norm.NFKC.String(m.Surface), m.Class) // engines cannot read narrow katakana
	default:
		r.add(end, m.Pronunciation, m.Class)
	}
}

func isSounded(c rune) bool { return unicode.IsLetter(c) || unicode.IsNumber(c) }

// add adds the text up to a position, with its spoken form, or "". A part of the previous word continues that word's
// reading.
func (r *reader) add(end int, spoken string, class Class) {
	original := string(r.written[r.at:end])
	r.at = end
	switch last := len(r.out) - 1; {
	case class == Symbol:
		r.out = append(r.out, Reading{Original: original, Spoken: original})
	case r.continues(class, spoken):
		r.out[last].Original += original
		r.out[last].Spoken = lengthen(r.out[last].Spoken, spoken)
	default:
		r.out = append(r.out, Reading{Original: original, Spoken: " " + spoken})
	}
	r.last = class
}

// continues reports whether a morpheme belongs to the word before it.
func (r *reader) continues(class Class, spoken string) bool {
	switch {
	case r.last == Symbol:
		return false
	case r.last == Prefix, strings.HasSuffix(r.out[len(r.out)-1].Spoken, "ッ"), spoken == "ー":
		return true
	case class == Ending:
		return r.last == Inflected || r.last == Ending
	default:
		return class == Suffix || class == Counter
	}
}

// lengthen appends the end of a word. The ending ウ lengthens the vowel before it: イコ and ウ are イコー.
func lengthen(word, end string) string {
	if vowel, _ := utf8.DecodeLastRuneInString(word); end == "ウ" && strings.ContainsRune("オコゴソゾトドノホボポモヨョロ", vowel) {
		end = "ー"
	}
	return word + end
}
