package speech

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/speech/ipa"
	"github.com/recital-tts/recital/internal/speech/ssml"
)

// Limits of a pronunciation in characters.
const (
	MaxLexiconWord   = 100
	MaxLexiconSpoken = 200
)

// maxPronounced is the maximum size of the spoken form of a segment, in bytes. A segment with a longer one is cut.
const maxPronounced = 2 << 10

// Pronunciation is how a word or phrase is spoken.
type Pronunciation struct {
	Word     string
	Spoken   string // a respelling
	IPA      string // phonemes, in place of Spoken
	Language string // a code as clients write it; "" for every language
}

// PronunciationError describes the problem of a pronunciation.
type PronunciationError struct {
	Field   string // word, spoken, ipa or language
	Problem string
}

// Error implements error.
func (e *PronunciationError) Error() string { return e.Field + ": " + e.Problem }

// Unwrap makes it a refusal.
func (e *PronunciationError) Unwrap() error {
	return domain.Refuse(domain.Invalid, "The pronunciation is wrong: "+e.Error())
}

// Normal returns the pronunciation in composed characters with single spaces. Errors: *PronunciationError.
func (p Pronunciation) Normal() (Pronunciation, error) {
	p.Word, p.Spoken, p.IPA = oneSpaced(p.Word), oneSpaced(p.Spoken), oneSpaced(p.IPA)
	p.Language = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(p.Language)), "_", "-")
	switch engine, known := LookupLanguage(p.Language); {
	case p.Language == AutoLanguage:
		p.Language = ""
	case p.Language != "" && (!known || engine == AutoLanguage):
		return p, &PronunciationError{"language", "the engine does not speak this language"}
	}
	if problem := problemOf(p.Word, MaxLexiconWord); problem != "" {
		return p, &PronunciationError{"word", problem}
	}
	if p.IPA != "" {
		return p, p.checkIPA()
	}
	if problem := problemOf(p.Spoken, MaxLexiconSpoken); problem != "" {
		return p, &PronunciationError{"spoken", problem}
	}
	return p, nil
}

func (p Pronunciation) checkIPA() error {
	engine, _ := LookupLanguage(p.Language)
	switch {
	case p.Spoken != "":
		return &PronunciationError{"ipa", "a word has a respelling or phonemes, and not both"}
	case utf8.RuneCountInString(p.IPA) > MaxLexiconSpoken:
		return &PronunciationError{"ipa", "it is too long"}
	case p.Language == "" || !ipa.Knows(engine):
		return &PronunciationError{"language", "phonemes need one of the languages that have them: " +
			strings.Join(ipa.Languages(), ", ")}
	}
	if err := ipa.Check(engine, p.IPA); err != nil {
		return &PronunciationError{"ipa", err.Error()}
	}
	return nil
}

func oneSpaced(text string) string { return strings.Join(strings.Fields(norm.NFC.String(text)), " ") }

func problemOf(text string, most int) string {
	switch {
	case utf8.RuneCountInString(text) > most:
		return "it is too long"
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return "it has control characters"
	case !isSpeakable(text):
		return "it needs a letter or a digit"
	}
	return ""
}

// Lexicon is a list of pronunciations, for all texts of an account. It is immutable.
type Lexicon struct {
	words map[string][]entry // by the folded word
	// lengths has the lengths in code points of the words that begin with a folded character, the longest first.
	lengths map[rune][]int
}

// entry is a pronunciation with its engine language. That is resolved once, because a text may have thousands of places
// for each of the entries.
type entry struct {
	Pronunciation
	engine  string
	primary string // of the engine language, if the pronunciation is one for all its regions
}

func newEntry(p Pronunciation) entry {
	e := entry{Pronunciation: p}
	if e.engine, _ = LookupLanguage(p.Language); !strings.Contains(p.Language, "-") {
		e.primary = primarySubtag(e.engine)
	}
	return e
}

// speaks reports whether the pronunciation is one for an engine language with a primary subtag.
func (e entry) speaks(engine, primary string) bool {
	return e.Language == "" || e.engine == engine || e.primary != "" && e.primary == primary
}

// NewLexicon returns a lexicon of pronunciations in normal form, or nil if there are none.
func NewLexicon(list []Pronunciation) *Lexicon {
	if len(list) == 0 {
		return nil
	}
	l := &Lexicon{words: map[string][]entry{}, lengths: map[rune][]int{}}
	for _, p := range list {
		word := fold([]rune(p.Word))
		l.words[string(word)] = append(l.words[string(word)], newEntry(p))
		if n := len(word); !slices.Contains(l.lengths[word[0]], n) {
			l.lengths[word[0]] = append(l.lengths[word[0]], n)
		}
	}
	for _, lengths := range l.lengths {
		slices.SortFunc(lengths, func(a, b int) int { return b - a })
	}
	return l
}

// fold makes words equal that differ in case, or in the kind of white space.
func fold(text []rune) []rune {
	folded := make([]rune, len(text))
	for i, r := range text {
		if folded[i] = unicode.ToLower(r); unicode.IsSpace(r) {
			folded[i] = ' '
		}
	}
	return folded
}

// find returns the readings of the words of a text that the lexicon has, in order: of those that begin at a place the
// longest one. Parts that have a reading already are left out. The time is linear in the text, because words are short.
func (l *Lexicon) find(text, language string, given []Reading) (found []Reading) {
	runes, offsets := composed(text)
	folded := fold(runes)
	for at := 0; at < len(runes); {
		for len(given) > 0 && given[0].End <= offsets[at] {
			given = given[1:]
		}
		until := len(runes)
		if len(given) > 0 {
			var begins bool
			if until, begins = slices.BinarySearch(offsets, given[0].Start); !begins { // it begins with the mark of a letter
				until--
			}
			if until <= at {
				at, _ = slices.BinarySearch(offsets, given[0].End)
				continue
			}
		}
		p, n := l.at(runes[:until], folded[:until], at, language)
		if n == 0 {
			at++
			continue
		}
		if suffix := possessive(p, runes[at+n:until]); suffix != "" {
			p.IPA += suffix
			n += len("'s")
		}
		reading := Reading{Start: offsets[at], End: offsets[at+n], Alias: p.Spoken, IPA: p.IPA}
		if of := languageAt(runes[at], language); of != language {
			reading.Language = of
		}
		found = append(found, reading)
		at += n
	}
	return found
}

// composed returns the code points of a text in the normal form of words, and their byte offsets with the offset of the
// end. A mark has the offset of its letter.
func composed(text string) (runes []rune, offsets []int) {
	runes, offsets = make([]rune, 0, len(text)), make([]int, 0, len(text)+1)
	var letters norm.Iter
	for letters.InitString(norm.NFC, text); !letters.Done(); {
		at := letters.Pos()
		for _, r := range string(letters.Next()) {
			runes, offsets = append(runes, r), append(offsets, at)
		}
	}
	return runes, append(offsets, len(text))
}

// at returns the pronunciation of the longest word at a place, and its length; 0 if there is none.
func (l *Lexicon) at(text, folded []rune, at int, language string) (Pronunciation, int) {
	lengths := l.lengths[folded[at]]
	if len(lengths) == 0 || at > 0 && joins(text[at-1], text[at]) {
		return Pronunciation{}, 0
	}
	language = languageAt(text[at], language)
	for _, n := range lengths {
		if end := at + n; end > len(text) || end < len(text) && joins(text[end-1], text[end]) {
			continue
		}
		if p, ok := choose(l.words[string(folded[at:at+n])], string(text[at:at+n]), language); ok {
			return p, n
		}
	}
	return Pronunciation{}, 0
}

// languageAt returns the language in which a run that begins with a character is spoken: see inTheirLanguages.
func languageAt(r rune, language string) string {
	if isWrittenInLatin(language) {
		if of := scriptLanguageOf(r); of != "" && of != latin {
			return of
		}
	}
	return language
}

// possessive returns the phonemes of the 's after an English word in phonemes, "" if there is none.
func possessive(p Pronunciation, after []rune) string {
	if p.IPA == "" || primarySubtag(p.Language) != "en" || len(after) < 2 || after[0] != '\'' && after[0] != '’' ||
		after[1] != 's' || len(after) > 2 && joins(after[1], after[2]) {
		return ""
	}
	switch last, _ := utf8.DecodeLastRuneInString(p.IPA); {
	case strings.ContainsRune("szʃʒʧʤ", last):
		return "ɪz"
	case strings.ContainsRune("ptkfθ", last):
		return "s"
	}
	return "z"
}

// joins reports whether two characters beside each other are of one word.
func joins(a, b rune) bool {
	if unicode.IsMark(b) {
		return true
	}
	if isIdeographic(a) || isIdeographic(b) || isSpaceless(a) || isSpaceless(b) {
		return false
	}
	return isWordRune(a) && isWordRune(b)
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) }

// choose returns the best of pronunciations for a word as it is written: one in the same case rather than in another,
// one for the language rather than for every language.
func choose(all []entry, written, language string) (best Pronunciation, ok bool) {
	written, primary := oneCased(written), primarySubtag(language)
	rank := func(p Pronunciation) (r int) {
		if p.Word == written {
			r += 2
		}
		if p.Language != "" {
			r++
		}
		return r
	}
	for _, p := range all {
		if !p.speaks(language, primary) {
			continue
		}
		if !ok || cmp.Or(rank(p.Pronunciation)-rank(best), strings.Compare(best.Language, p.Language),
			strings.Compare(best.Word, p.Word)) > 0 {
			best, ok = p.Pronunciation, true
		}
	}
	return best, ok
}

// oneCased returns a word with spaces for white space of every kind.
func oneCased(word string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, word)
}

// Pronounce returns the segments with the pronunciations of the lexicon. language is the language of segments without
// markup. The characters by which a respelling is longer than its word are added to the segment's. A segment with a
// long spoken form is cut.
func (l *Lexicon) Pronounce(segments []Segment, language string) []Segment {
	if l == nil {
		return segments
	}
	out := make([]Segment, 0, len(segments))
	for _, s := range segments {
		out = append(out, l.pronounce(s, language)...)
	}
	return out
}

func (l *Lexicon) pronounce(s Segment, language string) []Segment {
	m := markup{text: string([]rune(s.Text)), style: ssml.Style{Rate: 1, Range: 1}}
	if s.markup != nil {
		m = *s.markup
		language = cmp.Or(m.style.Language, language)
	}
	if len(m.text) != len(s.Text) { // it is not valid UTF-8
		return []Segment{s}
	}
	found := l.find(m.text, language, m.readings)
	if len(found) == 0 {
		return []Segment{s}
	}
	for _, r := range found {
		s.Characters += r.more(s.Text)
	}
	m.readings = append(slices.Clip(m.readings), found...)
	slices.SortFunc(m.readings, func(a, b Reading) int { return a.Start - b.Start })
	s.markup = &m
	return s.cutWhereLong()
}

// cutWhereLong cuts a segment before readings into pieces with a spoken form of at most maxPronounced bytes.
func (s Segment) cutWhereLong() (pieces []Segment) {
	for {
		size := 0
		i := slices.IndexFunc(s.markup.readings, func(r Reading) bool {
			size += len(r.Alias) + len(r.IPA)
			return size > maxPronounced && r.Start > 0
		})
		if i < 0 {
			return append(pieces, s)
		}
		first, rest := s.cutBefore(i)
		pieces, s = append(pieces, first), rest
	}
}

// cutBefore cuts a segment in two, before a reading.
func (s Segment) cutBefore(reading int) (first, rest Segment) {
	whole, at := s.markup, s.markup.readings[reading].Start
	start, end := *whole, *whole
	start.text, start.readings = whole.text[:at], whole.readings[:reading]
	start.hasPause, start.pause = false, 0
	end.text, end.readings = whole.text[at:], slices.Clone(whole.readings[reading:])
	for i := range end.readings {
		end.readings[i].Start -= at
		end.readings[i].End -= at
	}
	first, rest = newSegment(s.Text[:at], s.Start), newSegment(s.Text[at:], s.Start+at)
	first.markup, rest.markup = &start, &end
	first.Characters += moreOf(first)
	rest.Characters += moreOf(rest)
	return first, rest
}

// moreOf returns the number of characters to bill in addition to the originals of a segment's readings.
func moreOf(s Segment) (sum int) {
	for _, r := range s.markup.readings {
		sum += r.more(s.Text)
	}
	return sum
}
