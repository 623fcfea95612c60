package speech

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/recital-tts/recital/internal/speech/frontend"
)

// Pauses in seconds at speed 1. They are the same for all engines: docs/speech-parameters.md shows the table.
const (
	commaPause     = 0.14
	bracketPause   = 0.14 // before an opening and after a closing bracket
	semicolonPause = 0.22
	colonPause     = 0.22
	dashPause      = 0.22
	sentencePause  = 0.25
	linePause      = 0.3 // after a list item, or any other line that is not broken within a sentence
	paragraphPause = 0.5
	headingPause   = 0.6
)

// maxClauses bounds the parts of a segment between which there are pauses; the rest belongs to the last one.
const maxClauses = 128

// clause is a part of a spoken text that ends with a pause.
type clause struct {
	runes    int
	pause    float64 // seconds at speed 1
	question bool    // a yes-or-no question
}

// clausesOf cuts the spoken text at its pauses. It also returns the text with punctuation marks replaced one for one,
// so that an engine neither adds pauses of its own nor ends a sentence in the wrong place.
func clausesOf(spans []frontend.Span) (text string, found []clause) {
	c := newClauses(spans)
	for c.at < len(c.atoms) {
		c.step()
	}
	c.end(len(c.atoms), true)
	return string(c.said), c.found
}

// pauseAfter returns the pause at the end of a text in seconds at speed 1; 0 in the middle of a clause.
func pauseAfter(text string) float64 {
	_, found := clausesOf([]frontend.Span{plain(text, "")})
	if len(found) == 0 {
		return 0
	}
	return found[len(found)-1].pause
}

// clauses is the state of clausesOf.
type clauses struct {
	text  string
	said  []rune // the text for the engine
	atoms []atom
	runes []int // code points before each atom, and in all
	found []clause

	ends                 []int // offsets of full stops that end both an abbreviation and a sentence
	headings, underlines []int // offsets of headings, and of the underlines of headings
	sounds               [][2]int

	at       int     // the current atom
	from     int     // the first atom of the clause
	sentence int     // the first atom of the sentence
	words    bool    // the clause has a spoken word
	pause    float64 // of the marks after the last word
	mark     rune    // the last of these
	spaced   bool    // white space, or a mark that needs none, followed
	lines    int     // line ends after the last word
	line     int     // the first atom of the line
	heading  bool    // the line is a heading
	asked    bool    // the sentence ends with a question mark
	bracket  int     // the atom of the last closing bracket
	inner    int     // open brackets within a word
}

func newClauses(spans []frontend.Span) *clauses {
	c := &clauses{text: frontend.Spoken(spans)}
	c.said = []rune(c.text)
	c.atoms = scanAtoms(c.text)
	c.runes = make([]int, 0, len(c.atoms)+1)
	n := 0
	for _, a := range c.atoms {
		c.runes = append(c.runes, n)
		n += utf8.RuneCountInString(c.text[a.start:a.end])
	}
	c.runes = append(c.runes, n)
	at := 0
	for _, s := range spans {
		switch {
		case s.Kind == frontend.Heading && strings.HasPrefix(s.Original, "="):
			c.underlines = append(c.underlines, at)
		case s.Kind == frontend.Heading:
			c.headings = append(c.headings, at)
		case s.Kind == frontend.Phonemes:
			c.sounds = append(c.sounds, [2]int{at, at + len(s.Spoken)})
		case s.Kind == frontend.Abbreviation && strings.HasSuffix(s.Spoken, "."):
			c.ends = append(c.ends, at+len(s.Spoken)-1)
		}
		at += len(s.Spoken)
	}
	return c
}

// step processes the next atom.
func (c *clauses) step() {
	a := c.atoms[c.at]
	r := a.first
	if c.isSound(a.start) {
		c.word()
		return
	}
	c.underline(a.start)
	switch {
	case unicode.IsSpace(r):
		c.space(r)
	case isSentenceMark(r):
		c.stop(r)
	case r == '-' && c.isHyphen(), isDash(r) && !c.isRange():
		c.note(dashPause, r, !c.isBetweenDigits())
		c.replace(c.at, ',')
	case isClauseMark(r):
		c.note(markPause(r), r, isWideMark(r))
	case isOpening(r):
		c.open()
	case isClosing(r):
		c.close(r)
	case isCloser(r) && !c.spaced, !unicode.IsLetter(r) && !unicode.IsNumber(r) && isLookedThrough(r):
	default:
		c.word()
		return
	}
	c.at++
}

func (c *clauses) isSound(at int) bool {
	for len(c.sounds) > 0 && c.sounds[0][1] <= at {
		c.sounds = c.sounds[1:]
	}
	return len(c.sounds) > 0 && c.sounds[0][0] <= at
}

// underline marks the line before an underline as a heading.
func (c *clauses) underline(at int) {
	for len(c.underlines) > 0 && c.underlines[0] <= at {
		c.heading, c.underlines = true, c.underlines[1:]
	}
}

// note records a mark after the last word.
func (c *clauses) note(pause float64, mark rune, spaced bool) {
	if pause >= c.pause {
		c.pause, c.mark = pause, mark
	}
	c.spaced = c.spaced || spaced
}

func (c *clauses) space(r rune) {
	c.spaced = true
	if r == '\n' || r == '\u2029' {
		c.lines++
		if r == '\u2029' {
			c.lines++
		}
	}
}

// stop processes a mark that ends a sentence, or a full stop that does not.
func (c *clauses) stop(r rune) {
	after := c.atoms[c.at+1:]
	if r == '.' && !slices.Contains(c.ends, c.atoms[c.at].start) && !endsSentence(c.text[:c.atoms[c.at].start], after) {
		if len(after) > 1 && c.at > 0 && !isSentenceMark(c.atoms[c.at-1].first) && unicode.IsSpace(after[0].first) &&
			after[0].first != '\n' && !unicode.IsLower(after[1].first) {
			c.replace(c.at, ' ')
		}
		return
	}
	c.asked = c.asked || strings.ContainsRune("?？؟", r)
	c.note(sentencePause, r, isWideMark(r))
}

// open processes an opening bracket. There is a pause before it, except within a word.
func (c *clauses) open() {
	if c.words && !c.spaced {
		c.inner++
		return
	}
	if c.words && c.pause == 0 && c.at > 0 && unicode.IsSpace(c.atoms[c.at-1].first) {
		c.replace(c.at-1, ',')
	}
	c.note(bracketPause, '(', true)
	c.cut()
	c.replace(c.at, ' ')
}

func (c *clauses) close(r rune) {
	if c.inner > 0 {
		c.inner--
		return
	}
	if c.pause == 0 {
		c.bracket = c.at
	}
	c.note(bracketPause, r, strings.ContainsRune("）］｝〕】", r))
	c.replace(c.at, ' ')
}

// word processes an atom that is spoken. The clause before it ends if there is a pause.
func (c *clauses) word() {
	c.cut()
	for len(c.headings) > 0 && c.headings[0] <= c.atoms[c.at].start {
		c.heading, c.headings = true, c.headings[1:]
	}
	c.pause, c.mark, c.spaced, c.lines = 0, 0, false, 0
	r := c.atoms[c.at].first
	c.words = c.words || unicode.IsLetter(r) || unicode.IsNumber(r) || c.isSound(c.atoms[c.at].start)
	c.at++
}

// cut ends the clause before the atom if a pause belongs there.
func (c *clauses) cut() {
	switch {
	case !c.words:
	case c.lines > 0:
		c.end(c.at, false)
	case c.pause > 0 && c.spaced && len(c.found) < maxClauses-1:
		c.end(c.at, false)
	}
}

// end ends the clause before an atom. A line that is broken within a sentence does not end a clause.
func (c *clauses) end(at int, last bool) {
	pause := c.pause
	if pause > 0 && !c.spaced && !last {
		pause = 0
	}
	if c.lines > 0 && c.words {
		pause = max(pause, c.linePause(at))
		c.line, c.heading = at, false
	}
	if !last && (pause == 0 || len(c.found) >= maxClauses-1) {
		return
	}
	if !c.words {
		pause = 0
	}
	if isClosing(c.mark) && pause == bracketPause {
		c.replace(c.bracket, ',')
	}
	ended := pause >= sentencePause
	question := ended && c.asked && isYesOrNo(c.wordsOf(c.sentence, at))
	if ended {
		c.sentence, c.asked = at, false
	}
	c.found = append(c.found, clause{runes: c.runes[at] - c.runes[c.from], pause: pause, question: question})
	c.from, c.words, c.pause = at, false, 0
}

// linePause returns the pause of the line ends before an atom.
func (c *clauses) linePause(at int) float64 {
	switch {
	case c.heading:
		return headingPause
	case c.lines > 1:
		return paragraphPause
	case c.pause == 0 && isBroken(c.atoms[c.line:at], c.atoms[at:]):
		return 0
	}
	return linePause
}

func (c *clauses) replace(at int, by rune) { c.said[c.runes[at]] = by }

// wordsOf returns the first words from an atom to another.
func (c *clauses) wordsOf(from, to int) []string {
	end := len(c.text)
	if to < len(c.atoms) {
		end = c.atoms[to].start
	}
	words := strings.FieldsFunc(c.text[c.atoms[from].start:end], func(r rune) bool {
		return !unicode.IsLetter(r) && r != '\''
	})
	return words[:min(len(words), 3)]
}

// isHyphen reports whether a hyphen is used as a dash: two in a row, or one with white space around it.
func (c *clauses) isHyphen() bool {
	before, after := ' ', followingRune(c.atoms, c.at)
	if c.at > 0 {
		before = c.atoms[c.at-1].first
	}
	if before == '-' || after == '-' {
		return c.words
	}
	return c.words && unicode.IsSpace(before) && unicode.IsSpace(after)
}

// isRange reports whether a dash joins the words on its two sides: "3–4", "Bern–Basel".
func (c *clauses) isRange() bool {
	return c.atoms[c.at].first == '–' && c.at > 0 && !unicode.IsSpace(c.atoms[c.at-1].first) &&
		!unicode.IsSpace(followingRune(c.atoms, c.at))
}

func (c *clauses) isBetweenDigits() bool {
	return c.at > 0 && unicode.IsNumber(c.atoms[c.at-1].first) && unicode.IsNumber(followingRune(c.atoms, c.at))
}

func isDash(r rune) bool { return r == '—' || r == '–' || r == '―' }

func isOpening(r rune) bool { return strings.ContainsRune("([{（［｛〔【", r) }

func isClosing(r rune) bool { return strings.ContainsRune(")]}）］｝〕】", r) }

// isLookedThrough reports whether a character that is not spoken has no effect on pauses.
func isLookedThrough(r rune) bool { return unicode.Is(unicode.Cf, r) || unicode.IsMark(r) }

// markPause returns the pause of a clause mark.
func markPause(r rune) float64 {
	switch {
	case strings.ContainsRune(",،、，､፣", r):
		return commaPause
	case strings.ContainsRune(";؛；፤", r):
		return semicolonPause
	case isDash(r):
		return dashPause
	}
	return colonPause
}

// brokenLine is the minimum number of characters of a line that is broken within a sentence.
const brokenLine = 40

// isBroken reports whether a line without a mark at its end is broken within a sentence: it is long, and the next line
// begins in lower case.
func isBroken(line, after []atom) bool {
	return len(line) >= brokenLine && len(after) > 0 && unicode.IsLower(after[0].first)
}

// isYesOrNo reports whether an English question begins like a yes-or-no question.
func isYesOrNo(words []string) bool {
	for _, word := range words {
		word = strings.ToLower(word)
		if base, _, _ := strings.Cut(word, "'"); slices.Contains([]string{
			"who", "whom", "whose", "what", "which", "when", "where", "why", "how",
		}, base) {
			return false
		}
		if !slices.Contains([]string{
			"and", "but", "so", "then", "well", "now", "or", "in", "on", "at", "to", "for", "from", "with", "by", "of",
			"about", "since", "until", "oh", "yes", "no",
		}, word) {
			return true
		}
	}
	return true
}

// pausedPhrases cuts phrases at the ends of clauses and sets their pauses. Without phrases it cuts the voice's own way
// of speaking.
func pausedPhrases(phrases []Phrase, found []clause, runes int) []Phrase {
	if len(phrases) == 0 {
		phrases = []Phrase{OwnPhrase(runes)}
	}
	out := make([]Phrase, 0, len(phrases)+len(found))
	for _, p := range phrases {
		for left := p.Runes; left > 0; {
			if len(found) == 0 {
				found = []clause{{runes: left}}
			}
			piece, next := p, &found[0]
			piece.Runes, piece.Pause = min(left, next.runes), 0
			left -= piece.Runes
			if next.runes -= piece.Runes; next.runes == 0 {
				piece.Pause = round(clamp(next.pause*piece.pauses(), 0, MaxPause))
				piece.Question = next.question
				found = found[1:]
			}
			out = append(out, piece)
		}
	}
	return out
}

// pauses returns the factor of a phrase on pauses.
func (p Phrase) pauses() float64 {
	if p.Pauses == 0 {
		return 1
	}
	return p.Pauses
}
