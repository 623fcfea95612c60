// Package ipa translates the International Phonetic Alphabet into the phonemes of engines. The output consists only of
// names in its tables, so that a client's text is never a command of an engine.
package ipa

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// MaxWord is the maximum number of phonemes of a word: espeak-ng has room for 160 bytes.
const MaxWord = 40

// second is the name of the table of flite's phones for American English.
const second = "flite"

//go:embed phonemes.tsv
var rows string

// table maps decomposed symbols to the phonemes of an engine.
type table map[string]string

// tables has the tables by the primary subtags of languages.
var tables = sync.OnceValue(func() map[string]table {
	all := map[string]table{}
	for row := range strings.Lines(rows) {
		cells := strings.Split(strings.TrimSuffix(row, "\n"), "\t")
		if all[cells[0]] == nil {
			all[cells[0]] = table{}
		}
		all[cells[0]][cells[1]] = cells[2]
	}
	return all
})

func tableOf(language string) table {
	primary, _, _ := strings.Cut(language, "-")
	return tables()[primary]
}

// Knows reports whether there is a table for an engine language.
func Knows(language string) bool { return tableOf(language) != nil }

// Languages returns the primary subtags of the languages that have tables, in alphabetical order.
func Languages() (all []string) {
	for language := range tables() {
		if language != second {
			all = append(all, language)
		}
	}
	slices.Sort(all)
	return all
}

// Error describes an invalid transcription to its author.
type Error struct {
	Column  int // code points, from 1
	Problem string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.Problem) }

// word is a word of a transcription.
type word struct {
	phonemes []phoneme
	stressed bool
}

// phoneme is an engine's name of a symbol, with the stress mark before it.
type phoneme struct {
	name   string
	stress string // ' or , or ""
}

// Espeak returns a transcription in the mnemonics of espeak-ng for an engine language. A word has no white space, and
// there is a space between two words. Errors: *Error.
func Espeak(language, text string) (string, error) {
	return translate(tableOf(language), text, word.mnemonics)
}

// Flite returns a transcription in American English as flite's phones, with spaces between them; vowels have their
// stress as a digit. Errors: *Error.
func Flite(text string) (string, error) { return translate(tables()[second], text, word.phones) }

func translate(t table, text string, spell func(word) string) (string, error) {
	words, err := parse(t, text)
	spelt := make([]string, len(words))
	for i, w := range words {
		spelt[i] = spell(w)
	}
	return strings.Join(spelt, " "), err
}

func (w word) mnemonics() string {
	var out strings.Builder
	if !w.stressed {
		out.WriteByte('\'')
	}
	for j, p := range w.phonemes {
		if j > 0 {
			out.WriteByte('|') // otherwise two might be read as one
		}
		out.WriteString(p.stress + p.name)
	}
	return out.String()
}

func (w word) phones() string {
	digit := "0"
	if !w.stressed {
		digit = "1"
	}
	var phones []string
	for _, p := range w.phonemes {
		switch p.stress {
		case "'":
			digit = "1"
		case ",":
			digit = "2"
		}
		if strings.ContainsRune("aeiou", rune(p.name[0])) {
			p.name, digit = p.name+digit, "0"
		}
		phones = append(phones, p.name)
	}
	return strings.Join(phones, " ")
}

// Check returns an *Error if a transcription is invalid for an engine language.
func Check(language, text string) error {
	_, err := parse(tableOf(language), text)
	return err
}

// Sounds returns the approximate number of sounds of a transcription: the number of its letters.
func Sounds(text string) (n int) {
	for _, r := range text {
		if unicode.IsLetter(r) && !unicode.Is(unicode.Lm, r) {
			n++
		}
	}
	return n
}

// parse reads the longest symbols first.
func parse(t table, text string) (words []word, err error) {
	if t == nil {
		return nil, &Error{1, "there are no phonemes for this language"}
	}
	s := scanner{table: t}
	s.decompose(text)
	var w word
	for s.at < len(s.runes) {
		column := s.columns[s.at]
		switch r := s.runes[s.at]; {
		case unicode.IsSpace(r):
			if len(w.phonemes) > 0 {
				words = append(words, w)
			}
			w = word{}
			s.at++
		case r == 'ˈ' || r == '\'' || r == 'ˌ':
			s.at++
			s.stress = map[bool]string{true: ",", false: "'"}[r == 'ˌ']
		case r == '.' || r == '‿' || r == '|':
			s.at++
		default:
			if err := s.add(&w); err != nil {
				return nil, err
			}
		}
		if len(w.phonemes) > MaxWord {
			return nil, &Error{column, fmt.Sprintf("a word has more than %d sounds", MaxWord)}
		}
	}
	if len(w.phonemes) > 0 {
		words = append(words, w)
	}
	if len(words) == 0 {
		return nil, &Error{1, "there is no sound"}
	}
	return words, nil
}

// scanner reads a transcription.
type scanner struct {
	table   table
	runes   []rune // decomposed, without ties
	columns []int  // of the runes in the original text
	at      int
	stress  string // of the next vowel
}

func (s *scanner) decompose(text string) {
	column := 0
	for _, r := range text {
		column++
		for _, part := range norm.NFD.String(string(r)) {
			switch part {
			case '\u0361', '\u035c': // ties
				continue
			case ':':
				part = 'ː'
			}
			s.runes, s.columns = append(s.runes, part), append(s.columns, column)
		}
	}
}

const maxSymbol = 4 // code points

// add adds the phonemes of the next symbol.
func (s *scanner) add(w *word) error {
	for n := min(maxSymbol, len(s.runes)-s.at); n > 0; n-- {
		names, known := s.table[string(s.runes[s.at:s.at+n])]
		if !known {
			continue
		}
		s.at += n
		for name := range strings.SplitSeq(names, "|") {
			if isTone(name) {
				if !w.addTone(name) {
					return &Error{s.columns[s.at-n], "a tone needs a vowel before it"}
				}
				s.stress = "'"
				continue
			}
			if name != "" {
				w.stressed = w.stressed || s.stress == "'"
				w.phonemes = append(w.phonemes, phoneme{name, s.stress})
				s.stress = ""
			}
		}
		return nil
	}
	return &Error{s.columns[s.at], s.symbol() + " is not a sound of the language"}
}

// isTone reports whether a phoneme is a tone, named by pitches from 1 to 5.
func isTone(name string) bool { return len(name) > 1 && strings.Trim(name, "12345") == "" }

// addTone inserts a tone after the last vowel, as the engine expects it, and returns false if there is no vowel. A word
// with a tone is stressed.
func (w *word) addTone(name string) bool {
	last := -1
	for i, p := range w.phonemes {
		if strings.ContainsRune("aAeEiouy@", rune(p.name[0])) {
			last = i
		} else if isTone(p.name) {
			last = -1
		}
	}
	if last < 0 {
		return false
	}
	if !w.stressed {
		w.phonemes[0].stress, w.stressed = "'", true
	}
	w.phonemes = slices.Insert(w.phonemes, last+1, phoneme{name: name})
	return true
}

// symbol quotes the symbol at the position, with its diacritics.
func (s *scanner) symbol() string {
	n := 1
	for s.at+n < len(s.runes) && n < maxSymbol && unicode.IsMark(s.runes[s.at+n]) {
		n++
	}
	symbol := string(s.runes[s.at : s.at+n])
	switch r := s.runes[s.at]; {
	case unicode.IsMark(r):
		return "◌" + symbol
	case !unicode.IsPrint(r):
		return fmt.Sprintf("%U", r)
	}
	return symbol
}
