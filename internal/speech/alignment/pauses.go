package alignment

import "iter"

// longestPause is the number of frames to which the pauses of a recording are cut before the comparison. A rendering
// has few longer ones, and frames of silence in the recording alone would attract the path to other silences.
const longestPause = 40

// pause is a silence of a recording with its middle frames cut out.
type pause struct {
	start, end float64 // seconds, in the cut recording
	missing    float64 // seconds
}

// spans yields the start and end of each stretch of speech or silence.
func (a activity) spans() iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		for from, to := 0, 0; from < len(a.silent); from = to {
			for to = from + 1; to < len(a.silent) && a.silent[to] == a.silent[from]; to++ {
			}
			if !yield(from, to) {
				return
			}
		}
	}
}

// isCut reports whether a span is a pause to be cut.
func (a activity) isCut(from, to int) bool { return a.silent[from] && to-from > longestPause }

// whole yields all frames as one span.
func (a activity) whole() iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) { yield(0, len(a.silent)) }
}

// compared yields the spans of the frames that remain after pauses are cut, and of those that their slopes depend on.
func (a activity) compared() iter.Seq2[int, int] {
	const edge = longestPause/2 + sloped
	return func(yield func(from, to int) bool) {
		for from, to := range a.spans() {
			switch {
			case !a.isCut(from, to):
				if !yield(from, to) {
					return
				}
			case !yield(from, from+edge) || !yield(to-edge, to):
				return
			}
		}
	}
}

// cutPauses returns the features without the middles of long silences, and the silences.
func (f features) cutPauses() (short features, pauses []pause) {
	short.contrast = f.contrast
	keep := func(from, to int) {
		short.rows = append(short.rows, f.rows[from:to]...)
		short.silent = append(short.silent, f.silent[from:to]...)
	}
	for from, to := range f.spans() {
		if !f.isCut(from, to) {
			keep(from, to)
			continue
		}
		at := len(short.rows)
		keep(from, from+longestPause/2)
		keep(to-longestPause/2, to)
		pauses = append(pauses, pause{
			start: centre(float64(at) - 0.5), end: centre(float64(len(short.rows)) - 0.5),
			missing: float64(to-from-longestPause) * hop,
		})
	}
	return short, pauses
}

// restore converts the times of words in a recording with shortened pauses into times of the original. No word extends
// over such a pause: a word that contains it is moved to the side with its larger part.
func restore(words []Word, pauses []pause) {
	for i := range words {
		w := &words[i]
		for _, p := range pauses {
			w.avoid(p)
		}
		w.Start, w.End = restored(w.Start, pauses), restored(w.End, pauses)
		for j := range w.Phonemes {
			p := &w.Phonemes[j]
			p.Start, p.End = restored(p.Start, pauses), restored(p.End, pauses)
		}
	}
}

// avoid moves the ends of a word out of a pause.
func (w *Word) avoid(p pause) {
	if w.End <= p.start || w.Start >= p.end {
		return
	}
	if p.start-w.Start > w.End-p.end {
		w.End = p.start
	} else {
		w.Start = p.end
	}
	w.End = max(w.Start, w.End)
	for j := range w.Phonemes {
		part := &w.Phonemes[j]
		part.Start = min(max(part.Start, w.Start), w.End)
		part.End = min(max(part.End, w.Start), w.End)
	}
}

// restored adds the cuts before a time.
func restored(at float64, pauses []pause) float64 {
	missing := 0.0
	for _, p := range pauses {
		if at < p.end-hop/4 {
			break
		}
		missing += p.missing
	}
	return at + missing
}
