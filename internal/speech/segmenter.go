package speech

import (
	"unicode"
	"unicode/utf8"
)

// window is the number of bytes of a growing text that are examined for one segment. A segment has at most about 1,600,
// because its weight bounds its characters, and so has one that is joined with it. The rest serves to look ahead from a
// full stop over white space and quotes. Longer text is cut as if it ended with the window.
const window = 4 << 10

// Segmenter splits a growing text into segments, much as Split splits a complete one. The cuts depend on the text
// alone and not on the pieces in which it arrived: a segment is returned once no further text can move its end.
type Segmenter struct {
	text  string // not returned yet
	begun bool   // a segment was returned since the start or the last Flush
}

// Add appends to the text.
func (s *Segmenter) Add(piece string) { s.text += piece }

// Reset drops the text that has not been returned. The next segment is a first one.
func (s *Segmenter) Reset() { *s = Segmenter{} }

// Next returns the next segment whose end is certain. Segment.Start is not set.
func (s *Segmenter) Next() (Segment, bool) {
	n, certain := s.cut(false)
	if !certain {
		return Segment{}, false
	}
	return s.take(n), true
}

// Flush returns the next segment as if the text ended here, and false if none is left. It must be called until it
// returns false. The next segment is then a first one again.
func (s *Segmenter) Flush() (Segment, bool) {
	if s.text == "" {
		s.begun = false
		return Segment{}, false
	}
	n, certain := s.cut(false)
	if !certain {
		n, _ = s.cut(true)
	}
	return s.take(n), true
}

func (s *Segmenter) take(n int) Segment {
	segment := newSegment(s.text[:n], 0)
	s.text, s.begun = s.text[n:], true
	return segment
}

// cut returns the end of the next segment, in bytes, and whether that is certain. Unspeakable text is joined with the
// text after it, if it fits, because the text before it may have been spoken already.
func (s *Segmenter) cut(ended bool) (n int, certain bool) {
	text := s.text
	if len(text) > window {
		text, ended = wholeRunes(text[:window]), true
	}
	atoms := scanAtoms(text)
	if !ended {
		atoms = atoms[:settled(atoms)]
	}
	for weight := 0; ; {
		count := segmentLength(atoms, !s.begun)
		if count == 0 || count == len(atoms) && !ended && !cutsAt(atoms, !s.begun) {
			return 0, false
		}
		more := text[n:atoms[count-1].end]
		if weight += weightOf(more); n > 0 && weight > MaxSegmentCharacters {
			return n, true
		}
		n, atoms = n+len(more), atoms[count:]
		if isSpeakable(more) || n == len(s.text) {
			return n, ended || n < len(s.text)
		}
	}
}

// cutsAt reports whether a segment ends with the last of the atoms even if more follow: as the first clause or
// sentence, and not for lack of atoms.
func cutsAt(atoms []atom, first bool) bool {
	weight := 0
	for _, a := range atoms {
		weight += a.weight
	}
	last := atoms[len(atoms)-1].after
	return first && (last == breakSentence || last == breakClause && weight >= firstSegmentClause)
}

// settled returns the number of leading atoms that no further text can change, including the breaks after them. The
// last cluster may grow, and a full stop depends on the text after the white space.
func settled(atoms []atom) int {
	n := max(len(atoms)-1, 0)
	if i := undecided(atoms); i >= 0 {
		return i
	}
	for i := len(atoms) - 1; i >= 0; i-- {
		r := atoms[i].first
		if r == '.' {
			return i
		}
		if !unicode.IsSpace(r) && !isCloser(r) && !unicode.Is(unicode.Ps, r) {
			break
		}
	}
	return n
}

// wholeRunes removes an incomplete character at the end.
func wholeRunes(text string) string {
	for i := 1; i < utf8.UTFMax && i < len(text); i++ {
		if r := text[len(text)-i]; utf8.RuneStart(r) {
			if !utf8.FullRuneInString(text[len(text)-i:]) {
				return text[:len(text)-i]
			}
			break
		}
	}
	return text
}

// undecided returns the index of a full stop after a number or a single letter if the next word, which decides about
// it, is incomplete ("am 3. Okt", "z. B"), and otherwise -1.
func undecided(atoms []atom) int {
	i := len(atoms) - 1
	for i >= 0 && unicode.IsLetter(atoms[i].first) && len(atoms)-i <= maxFollowing {
		i--
	}
	if i == len(atoms)-1 {
		return -1
	}
	for i >= 0 && unicode.IsSpace(atoms[i].first) {
		i--
	}
	if i < 1 || atoms[i].first != '.' {
		return -1
	}
	before := atoms[i-1].first
	single := unicode.IsLower(before) && (i == 1 || !unicode.IsLetter(atoms[i-2].first))
	if single || unicode.IsNumber(before) {
		return i
	}
	return -1
}
