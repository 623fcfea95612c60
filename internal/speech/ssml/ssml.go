// Package ssml parses a subset of the Speech Synthesis Markup Language (https://www.w3.org/TR/speech-synthesis11) into
// its text and the style of each part. Unsupported markup is an error.
package ssml

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/recital-tts/recital/internal/speech/ipa"
)

// Limits of a document.
const (
	MaxDepth  = 16               // of elements within each other
	MaxPause  = 10 * time.Second // of one pause
	MaxPauses = time.Minute      // of all pauses
	MaxSpoken = 400              // characters of an alias, or of a text with a class
	MaxVoices = 16               // different ones
	MaxRuns   = 300              // each may take an engine some milliseconds, however short it is
	maxBytes  = 32 << 10
)

// Document is a parsed text.
type Document struct {
	Text   string     // without the markup
	Runs   []Run      // their texts, concatenated, are Text
	Voices []VoiceUse // those that it names, each once
}

// VoiceUse is where a document names a voice for the first time.
type VoiceUse struct {
	Name string
	at   Error
}

// Error returns an error at the place.
func (u VoiceUse) Error(problem string) *Error {
	wrong := u.at
	wrong.Problem = "the voice of <voice>: " + problem
	return &wrong
}

// Characters returns the number of characters to bill. A text with an alias counts as the longer of the two, because a
// long alias of a short text would be almost free otherwise.
func (d Document) Characters() (sum int) {
	for _, r := range d.Runs {
		sum += r.Characters()
	}
	return sum
}

// soundsFree is the number of sounds that a character of a text may have without being billed.
const soundsFree = 2

// Characters returns the number of characters to bill: the length of the alias if it is longer than the text, or else
// the length of the text, with the sounds of its phonemes beyond two for each character.
func (r Run) Characters() int {
	n := utf8.RuneCountInString(r.Text)
	return max(n, utf8.RuneCountInString(r.Alias), n+ipa.Sounds(r.IPA)-soundsFree*n)
}

// HasPhonemes reports whether a part of the document is spoken by its phonemes.
func (d Document) HasPhonemes() bool {
	return slices.ContainsFunc(d.Runs, func(r Run) bool { return r.IPA != "" })
}

// CheckPhonemes checks the phonemes of the document. language is the engine language of parts that name none. check
// returns an *ipa.Error for wrong phonemes. Errors: *Error.
func (d Document) CheckPhonemes(language string, check func(language, phonemes string) error) error {
	for _, r := range d.Runs {
		var wrong *ipa.Error
		if r.IPA == "" || !errors.As(check(cmp.Or(r.Style.Language, language), r.IPA), &wrong) {
			continue
		}
		at := r.phonemesAt
		at.Column += (wrong.Column - 1) * r.phonemesStep
		at.Problem = "the ph of <phoneme>: " + wrong.Problem
		return &at
	}
	return nil
}

// Pauses returns the sum of the pauses that the document asks for.
func (d Document) Pauses() (sum time.Duration) {
	for _, r := range d.Runs {
		sum += r.Pause
	}
	return sum
}

// Run is a part of a document that is spoken in one way. Its text is empty only if a pause comes before any text.
type Run struct {
	Text   string
	Alias  string // spoken in place of the text; "" for none
	IPA    string // the phonemes of the text; "" for none
	Class  Class  // of the text; "" to detect it
	Format string // of a date: the order of "d", "m" and "y"; "" for the language's own
	Style  Style

	HasPause bool // a pause is asked for after the run, perhaps of 0
	Pause    time.Duration
	Ends     Boundary // what ends after the run

	element int // the number of the element that Alias, IPA and Class come from; 0 for none
	// Where the phonemes are in the document, and how many columns each of their characters takes: 1, or 0 if they are
	// written with entities.
	phonemesAt   Error
	phonemesStep int
}

// Class is the class of a text by the attribute interpret-as.
type Class string

// The classes of say-as.
const (
	Cardinal   Class = "cardinal"
	Ordinal    Class = "ordinal"
	Characters Class = "characters"
	Digits     Class = "digits"
	Date       Class = "date"
	Time       Class = "time"
	Telephone  Class = "telephone"
	Currency   Class = "currency"
	Unit       Class = "unit"
)

// Boundary is a unit of a text that ends.
type Boundary int

// The boundaries, the strongest last.
const (
	NoBoundary Boundary = iota
	SentenceEnd
	ParagraphEnd
)

// Style is how a text is delivered, relative to how it would be without markup.
type Style struct {
	Voice    string  // a voice's name; "" for the voice of the request
	Language string  // an engine language; "" for the language of the request
	Rate     float64 // a factor; 0.25 to 2
	Pitch    float64 // semitones; -12 to 12
	Volume   float64 // decibels; -12 to 12
	Range    float64 // a factor on the width of the intonation
}

func ownStyle() Style { return Style{Rate: 1, Range: 1} }

// Error describes a problem of a document to its author.
type Error struct {
	Line, Column int // from 1; columns are code points
	Problem      string
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Problem)
}

func newError(text string, offset int, problem string) *Error {
	before := text[:min(offset, len(text))]
	start := strings.LastIndexByte(before, '\n') + 1
	return &Error{
		Line: 1 + strings.Count(before, "\n"), Column: 1 + utf8.RuneCountInString(before[start:]), Problem: problem,
	}
}

const root = "speak"

// Is reports whether a text is a document: it begins, perhaps after white space and an XML declaration, with the tag of
// the element speak.
func Is(text string) bool {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "<?xml ") {
		_, text, _ = strings.Cut(text, "?>")
	}
	rest, found := strings.CutPrefix(strings.TrimSpace(text), "<"+root)
	next, _ := utf8.DecodeRuneInString(rest)
	return found && (rest == "" || next == '/' || next == '>' || unicode.IsSpace(next))
}
