package speech

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Segment is a piece of a text that is synthesised as one job. The segments of a text, concatenated, are the text.
type Segment struct {
	Text       string
	Start      int // byte offset in the text
	Characters int // code points; a byte that is not valid UTF-8 counts as one
	markup     *markup
}

// Limits of segments in weight, which estimates how long a text takes to speak: a Latin letter has weight 1.
const (
	firstSegmentClause = 15  // the first segment ends with the first clause that is at least this long
	firstSegmentWeight = 200 // or else with the last word below this
	segmentWeight      = 300
)

// MaxSegmentCharacters bounds a segment even if the text has no suitable position to cut.
const MaxSegmentCharacters = 400

// Split splits a text into segments: after sentences, if these are too long after clauses, then between words, then
// between grapheme clusters. The first one is short, so that its audio can start while others wait for a worker; later
// ones contain as many sentences as fit. Unspeakable text (white space, symbols) is joined with a neighbour.
func Split(text string) []Segment { return split(text, true) }

// split splits a text, or the rest of one if first is false.
func split(text string, first bool) []Segment {
	if text == "" {
		return nil
	}
	atoms := scanAtoms(text)
	var ends []int // byte offsets
	for from := 0; from < len(atoms); {
		n := segmentLength(atoms[from:], first && from == 0)
		from += n
		ends = append(ends, atoms[from-1].end)
	}
	return joinUnspeakable(cutAt(text, ends))
}

// segmentLength returns the number of atoms of the next segment, at least one.
func segmentLength(atoms []atom, first bool) int {
	limit := segmentWeight
	if first {
		limit = firstSegmentWeight
	}
	var last [breakSentence + 1]int // number of atoms up to the last break of each kind
	weight := 0
	for i, a := range atoms {
		weight += a.weight
		if weight > limit && i > 0 {
			return bestBreak(last, i)
		}
		last[a.after] = i + 1
		if first && (a.after == breakSentence || a.after == breakClause && weight >= firstSegmentClause) {
			return i + 1
		}
	}
	return len(atoms)
}

// bestBreak returns the strongest kind of break that does not leave a very short segment.
func bestBreak(last [breakSentence + 1]int, full int) int {
	for kind := breakSentence; kind > breakNone; kind-- {
		if last[kind] > full/5 {
			return last[kind]
		}
	}
	return max(last[breakSpace], last[breakNone], 1)
}

func cutAt(text string, ends []int) []Segment {
	segments := make([]Segment, 0, len(ends))
	start := 0
	for _, end := range ends {
		segments = append(segments, newSegment(text[start:end], start))
		start = end
	}
	return segments
}

func newSegment(text string, start int) Segment {
	return Segment{Text: text, Start: start, Characters: utf8.RuneCountInString(text)}
}

// joinUnspeakable joins unspeakable segments with the one before, or else the one after, if they fit.
func joinUnspeakable(segments []Segment) []Segment {
	joined := segments[:0]
	for _, s := range segments {
		if n := len(joined); n > 0 && fitsWith(joined[n-1], s) {
			joined[n-1] = newSegment(joined[n-1].Text+s.Text, joined[n-1].Start)
			continue
		}
		joined = append(joined, s)
	}
	return joined
}

func fitsWith(a, b Segment) bool {
	return !(isSpeakable(a.Text) && isSpeakable(b.Text)) && weightOf(a.Text)+weightOf(b.Text) <= MaxSegmentCharacters
}

// weightOf returns the weight of a text, which is at least the number of characters.
func weightOf(text string) (weight int) {
	for _, r := range text {
		weight += runeWeight(r)
	}
	return weight
}

func isSpeakable(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r))
	})
}
