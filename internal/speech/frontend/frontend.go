// Package frontend converts written text into spoken text, before every engine: "$5" becomes "five dollars". It returns
// the text in spans with the caller's original and the spoken form, so that word times and billing follow the caller's
// text.
package frontend

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Kind is the semiotic class of a span.
type Kind string

// The kinds of spans.
const (
	Plain        Kind = "plain" // spoken as it is written
	Money        Kind = "money"
	Number       Kind = "number"
	Ordinal      Kind = "ordinal"
	Date         Kind = "date"
	Time         Kind = "time"
	Range        Kind = "range"
	Fraction     Kind = "fraction"
	Unit         Kind = "unit"
	Phone        Kind = "phone"
	Abbreviation Kind = "abbreviation"
	URL          Kind = "url"
	Email        Kind = "email"
	Path         Kind = "path"
	Version      Kind = "version"
	Markdown     Kind = "markdown"
	ListItem     Kind = "list item"
	Heading      Kind = "heading"
	Roman        Kind = "roman numeral"
	Emoji        Kind = "emoji"
	Hashtag      Kind = "hashtag"
	Symbol       Kind = "symbol"
	Heteronym    Kind = "heteronym"
	Syllable     Kind = "syllable" // spelled for the engine, letter by letter
	Letter       Kind = "letter"   // which is written as several characters
	Word         Kind = "word"     // spelled for the engine, as a whole
	Given        Kind = "given"    // with a spoken form given by the caller
	Phonemes     Kind = "phonemes" // with a spoken form in the International Phonetic Alphabet
)

// Span is a part of a text. The originals of a text's spans, concatenated, are the text.
type Span struct {
	Original string
	Spoken   string
	Kind     Kind
	Language string
}

// Reading is the given spoken form of a part of a text, which overrides the rules.
type Reading struct {
	Start, End int // byte offsets
	Spoken     string
	Language   string // of the spoken form; "" for the text's
	Phonemes   bool   // Spoken is in the International Phonetic Alphabet
}

// Spans returns the spans of a text in an engine language. In languages without rules, only Markdown is read. The given
// readings are in order and not empty, and become spans of their own.
func Spans(text, language string, given ...Reading) []Span {
	if text == "" {
		return nil
	}
	if !norm.NFC.IsNormalString(text) {
		return compose(text).spans(language, given)
	}
	return spansOf(text, language, given)
}

func spansOf(text, language string, given []Reading) []Span {
	l := localeOf(language)
	s := scanner{text: text, locale: l, language: language, given: given}
	s.run()
	if !speakable(Spoken(s.spans)) && speakable(text) {
		return []Span{{Original: text, Spoken: text, Kind: Plain, Language: language}}
	}
	return s.spans
}

// Spoken returns the spoken form of spans.
func Spoken(spans []Span) string {
	var out strings.Builder
	for _, s := range spans {
		out.WriteString(s.Spoken)
	}
	return out.String()
}

func speakable(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r))
	})
}

// scanner finds the spans of a text from left to right. Each rule looks at a bounded part of the text, so that the time
// is linear.
type scanner struct {
	text     string
	at       int // bytes before it have a span, or are plain
	plain    int // the start of the plain text before at
	locale   *locale
	language string
	spans    []Span
	seen     context // by the rule that is tried
	item     bool    // the line is a heading or an item of a list
	given    []Reading
	only     Kind  // of the rules that apply, "" for all
	row      int   // the positions that rules were tried at since the last letter or space, and the emoji
	listed   int   // the end of the last word
	numeral  int64 // of the last item of a list with Roman ones
	work     int   // the bytes that the filter and the patterns were given
}

const (
	// window is the number of bytes that a rule may look at.
	window = 160
	// maxRow is the number of positions in a row of digits and marks at which rules are tried. A longer row is no text,
	// and the rest of it is left to the engine as it is written.
	maxRow = 100
	// maxListed is the number of bytes of a list of numbers, without words between them, that rules read. After that,
	// numbers that consist of digits alone are left to the engine, which reads them alike.
	maxListed = 48
)

func (s *scanner) run() {
	for s.at < len(s.text) {
		if len(s.given) > 0 && s.given[0].Start == s.at {
			r := s.given[0]
			s.given = s.given[1:]
			s.emitGiven(r)
			continue
		}
		if size := s.skipFigures(); size > 0 {
			s.at += size
			continue
		}
		if m, ok := s.match(); ok {
			s.emit(m)
			continue
		}
		s.at += s.skip()
	}
	s.flush()
}

// found is the result of a rule at the scanner's position.
type found struct {
	size   int
	spoken string
	kind   Kind
}

func (s *scanner) emit(m found) {
	s.flush()
	original := s.text[s.at : s.at+m.size]
	s.at += m.size
	s.plain = s.at
	if strings.ContainsFunc(original, unicode.IsLetter) {
		s.listed = s.at
	}
	s.add(Span{Original: original, Spoken: m.spoken, Kind: m.kind, Language: s.language})
}

func (s *scanner) emitGiven(r Reading) {
	kind := Given
	if r.Phonemes {
		kind = Phonemes
	}
	s.emit(found{size: r.End - r.Start, spoken: r.Spoken, kind: kind})
	if r.Language != "" {
		s.spans[len(s.spans)-1].Language = r.Language
	}
}

func (s *scanner) flush() {
	if s.plain < s.at {
		plain := s.text[s.plain:s.at]
		s.add(Span{Original: plain, Spoken: plain, Kind: Plain, Language: s.language})
	}
	s.plain = s.at
}

// add adds a span. There may be thousands, so there is room for twice as many when it runs out, where append would add
// a quarter.
func (s *scanner) add(span Span) {
	if len(s.spans) == cap(s.spans) {
		s.spans = slices.Grow(s.spans, max(len(s.spans), 8))
	}
	s.spans = append(s.spans, span)
}

// skip returns the size of the plain text at the position: the rest of a word, or a character.
func (s *scanner) skip() int {
	r, n := utf8.DecodeRuneInString(s.text[s.at:])
	if unicode.IsLetter(r) || unicode.IsSpace(r) {
		s.row = 0
	}
	if !isWord(r) {
		return n
	}
	for s.at+n < s.until() {
		r, size := utf8.DecodeRuneInString(s.text[s.at+n:])
		if !isWord(r) {
			break
		}
		n += size
	}
	if unicode.IsLetter(r) {
		s.listed = s.at + n
	}
	return n
}

// match returns the result of the first rule that applies at the position.
func (s *scanner) match() (found, bool) {
	if m, ok := s.matchLine(); ok {
		return m, true
	}
	rest := s.rest()
	first, _ := utf8.DecodeRuneInString(rest)
	if isWord(first) && isWord(s.previous()) && s.plain < s.at { // else a rule has ended here
		return found{}, false
	}
	if m, ok := s.matchEmoji(first); ok {
		return m, true
	}
	if s.row == maxRow || isEndless(rest) {
		return found{}, false
	}
	s.row++
	f := s.locale.filter()
	c := f.candidates(rest)
	s.work += c.work
	for i := range c.rules.all() {
		r := &s.locale.rules[i]
		if s.only != "" && r.kind != s.only || r.unless != nil && r.unless(s) {
			continue
		}
		s.work += int(c.reach[i])
		if m, ok := s.try(r, rest[:c.reach[i]]); ok {
			return m, true
		}
	}
	return found{}, false
}

// figures match numbers of digits alone before another one.
var figures = regexp.MustCompile(`^(?:[1-9]\d{0,8} )+\d`)

// skipFigures returns the size of the numbers of digits alone at the position, in a list that is long already.
func (s *scanner) skipFigures() int {
	if s.at-s.listed <= maxListed || s.previous() != ' ' {
		return 0
	}
	return max(len(figures.FindString(s.rest()))-1, 0)
}

// isEndless reports whether all that rules see is digits.
func isEndless(rest string) bool {
	return len(rest) == window && strings.Trim(rest, "0123456789") == ""
}

// previous returns the character before the position, or a space at the start.
func (s *scanner) previous() rune {
	if s.at == 0 {
		return ' '
	}
	r, _ := utf8.DecodeLastRuneInString(s.text[:s.at])
	return r
}

// rest returns the part of the text that rules look at.
func (s *scanner) rest() string {
	rest := s.text[s.at:s.until()]
	if len(rest) <= window {
		return rest
	}
	end := window
	for end > window-utf8.UTFMax && !utf8.RuneStart(rest[end]) {
		end--
	}
	return rest[:end]
}

// chunkOf returns the text up to white space.
func chunkOf(text string) string {
	if i := strings.IndexFunc(text, unicode.IsSpace); i >= 0 {
		return text[:i]
	}
	return text
}

// until returns the end of the text that rules look at.
func (s *scanner) until() int {
	if len(s.given) > 0 {
		return s.given[0].Start
	}
	return len(s.text)
}

func (s *scanner) try(r *rule, part string) (found, bool) {
	groups := r.pattern.FindStringSubmatch(part)
	if groups == nil || groups[0] == "" {
		return found{}, false
	}
	c := &s.seen
	*c = context{scanner: s, groups: groups, size: len(groups[0]), after: s.text[s.at+len(groups[0]):]}
	if c.inWord() {
		return found{}, false
	}
	spoken, ok := r.say(c)
	return found{size: c.size, spoken: spoken, kind: r.kind}, ok
}

// context is the input of a rule.
type context struct {
	*scanner
	groups []string
	size   int    // of the replaced text; a rule may reduce it
	after  string // the text that follows
}

// inWord reports whether the match ends within a word or number, where it is not "7ish" or before a Korean ending.
func (c *context) inWord() bool {
	last, _ := utf8.DecodeLastRuneInString(c.groups[0])
	next, _ := utf8.DecodeRuneInString(c.after)
	isEnding := unicode.Is(unicode.Hangul, next) || strings.HasPrefix(c.after, "ish")
	return c.after != "" && isWord(last) && isWord(next) && !isEnding
}

// before returns the word before the position, without the punctuation around it.
func (s *scanner) before() string {
	head := s.text[max(0, s.at-40):s.at]
	head = strings.TrimRightFunc(head, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("(*,", r) })
	head = strings.TrimSuffix(head, ".")
	i := strings.LastIndexFunc(head, func(r rune) bool { return !isWord(r) && r != '\'' })
	if i < 0 {
		return head
	}
	_, size := utf8.DecodeRuneInString(head[i:])
	return head[i+size:]
}

// next returns the word after the match, if it is in the same sentence.
func (c *context) next() string {
	tail := strings.TrimLeft(c.after[:min(len(c.after), 60)], " \u00a0*_")
	if i := strings.IndexFunc(tail, func(r rune) bool { return !isWord(r) && r != '\'' }); i >= 0 {
		tail = tail[:i]
	}
	return tail
}

func isWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) && r != 0xfe0f)
}
