package speech

import (
	"unicode"
	"unicode/utf8"
)

// window is how many bytes of a growing text are looked at for one segment. A segment has some 1,300 at most, because
// its weight bounds its characters; the rest is for looking ahead from a full stop over white space and quotes. Where
// more text than this is waiting, the place to cut is searched as if the text ended with the window.
const window = 4 << 10

// Segmenter cuts a text that grows into segments, much as Split cuts a text that is whole. Where it cuts depends on the
// text alone and not on the pieces in which it came: a segment is given out once no further text can move its end.
type Segmenter struct {
	text  string // not given out yet
	begun bool   // a segment was given out since the beginning or the last Flush
}

// Add appends to the text.
func (s *Segmenter) Add(piece string) { s.text += piece }

// Waiting is how many code points have not been given out.
func (s *Segmenter) Waiting() int { return utf8.RuneCountInString(s.text) }

// Reset forgets the text that has not been given out. The next segment is a first one.
func (s *Segmenter) Reset() { *s = Segmenter{} }

// Next is the next segment whose end is certain. Segment.Start is not set.
func (s *Segmenter) Next() (Segment, bool) {
	n, certain := s.cut(false)
	if !certain {
		return Segment{}, false
	}
	return s.take(n), true
}

// Flush is the next segment of the text so far, as if the text ended there, and false when there is none left. Once it
// has been called it must be called until then; the next segment is a first one again.
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

// cut finds where the next segment ends, in bytes, and whether that is certain. What has nothing to say goes with what
// follows, as far as it fits: what comes before may have been spoken already.
func (s *Segmenter) cut(ended bool) (n int, certain bool) {
	for {
		more, certain := s.cutAfter(n, ended)
		if !certain {
			return 0, false
		}
		if n > 0 && weightOf(s.text[:n+more]) > MaxSegmentCharacters {
			return n, true
		}
		n += more
		if isSpeakable(s.text[:n]) || n == len(s.text) {
			return n, ended || n < len(s.text)
		}
	}
}

// cutAfter finds the end of the segment that begins at byte from.
func (s *Segmenter) cutAfter(from int, ended bool) (n int, certain bool) {
	text := s.text[from:]
	if len(text) > window {
		text, ended = wholeRunes(text[:window]), true
	}
	atoms := scanAtoms(text)
	known := len(atoms)
	if !ended {
		known = settled(atoms)
	}
	count := segmentLength(atoms[:known], !s.begun)
	if count == 0 || count == known && !ended && !cutsAt(atoms[:known], !s.begun) {
		return 0, false
	}
	return atoms[count-1].end, true
}

// cutsAt tells whether a segment ends with the last of the atoms even where more follow: as the first clause or
// sentence, and not for lack of atoms.
func cutsAt(atoms []atom, first bool) bool {
	weight := 0
	for _, a := range atoms {
		weight += a.weight
	}
	last := atoms[len(atoms)-1].after
	return first && (last == breakSentence || last == breakClause && weight >= firstSegmentClause)
}

// settled is the number of atoms, from the beginning, that no further text changes: neither how well the text can be cut
// after them nor what they are. The last cluster may grow, and a full stop waits for what comes after white space.
func settled(atoms []atom) int {
	n := max(len(atoms)-1, 0)
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

// wholeRunes leaves out a character that is cut at the end.
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
