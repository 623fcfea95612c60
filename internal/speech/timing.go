package speech

import "slices"

// Timings places a text's words, white space and punctuation in the audio of one segment: samples is its length, rate
// is in Hz. A word lasts until the next one or until the engine falls silent; the pause belongs to the punctuation
// that causes it. All times are rounded down to milliseconds.
func Timings(text string, marks []Mark, samples, rate int) []Timing {
	return timeSpans(placeTokens(tokenize(text), marks, samples), samples, 0, rate)
}

// span is the position of a token in samples.
type span struct {
	token
	start, end int
	marked     bool // the engine reported its start
	lastMark   int  // sample of the last mark inside it
}

// timeSpans converts the spans of a segment that begins offset samples into the stream into timings.
func timeSpans(spans []span, samples, offset, rate int) []Timing {
	first, last := samples, samples
	if len(spans) > 0 {
		first, last = spans[0].start, spans[len(spans)-1].end
	}
	timings := make([]Timing, 0, len(spans)+2)
	timings = append(timings, newTiming("", offset, offset+first, rate))
	for _, s := range spans {
		timings = append(timings, newTiming(s.text, offset+s.start, offset+s.end, rate))
	}
	return append(timings, newTiming("", offset+last, offset+samples, rate))
}

func newTiming(text string, start, end, rate int) Timing {
	from, to := milliseconds(start, rate), milliseconds(end, rate)
	return Timing{Text: text, Start: float64(from) / 1000, Duration: float64(to-from) / 1000}
}

func milliseconds(samples, rate int) int64 { return int64(samples) * 1000 / int64(rate) }

// placeTokens returns the span of every token. The spans are increasing and lie within the samples.
func placeTokens(tokens []token, marks []Mark, samples int) []span {
	spans := make([]span, len(tokens))
	for i, t := range tokens {
		spans[i].token = t
	}
	silences := placeMarks(spans, marks, samples)
	from := nextMarked(spans, 0)
	if from == len(spans) { // nothing was spoken
		return place(spans, 0, 0)
	}
	place(spans[:from], spans[from].start, spans[from].start)
	for from < len(spans) {
		to := nextMarked(spans, from+1)
		until := samples
		if to < len(spans) {
			until = spans[to].start
		}
		placeGroup(spans[from:to], firstBetween(silences, spans[from].lastMark, until), until)
		from = to
	}
	return spans
}

// placeMarks assigns the word marks to the tokens and returns the samples at which the engine falls silent.
//
// espeak-ng reports one mark for some pairs of words ("of the"), several inside a number, the position of the space
// before some words, and in Chinese and Japanese the same position more than once. A mark therefore belongs to the
// token at its position, or else to the next spoken one. The first mark of a token counts. Marks that go back are
// ignored.
func placeMarks(spans []span, marks []Mark, samples int) (silences []int) {
	current, passed := 0, 0 // the token at a position, and the code points before it
	now := 0
	for _, m := range marks {
		if m.Phoneme != "" {
			continue
		}
		now = min(max(now, m.Sample), samples)
		if m.Silence {
			silences = append(silences, now)
			continue
		}
		for current < len(spans) && passed+spans[current].runes <= m.Rune {
			passed += spans[current].runes
			current++
		}
		for current < len(spans) && spans[current].kind < tokenSymbol {
			passed += spans[current].runes
			current++
		}
		if current == len(spans) {
			continue
		}
		if s := &spans[current]; !s.marked {
			s.start, s.marked = now, true
		}
		spans[current].lastMark = now
	}
	return silences
}

func nextMarked(spans []span, from int) int {
	for from < len(spans) && !spans[from].marked {
		from++
	}
	return from
}

// firstBetween returns the first of the increasing values in (from, until), or until.
func firstBetween(values []int, from, until int) int {
	for _, v := range values {
		if v > from && v < until {
			return v
		}
	}
	return until
}

// placeGroup places a marked token and the unmarked ones after it. Words share the time until the silence in proportion
// to their length; the pause belongs to the tokens after the last word.
func placeGroup(group []span, silence, until int) {
	words, letters := 1, 0 // tokens up to the last word, and letters in words
	for i, s := range group {
		if i == 0 || s.kind == tokenWord {
			words = i + 1
			letters += s.runes
		}
	}
	tail := group[words:]
	if len(tail) == 0 {
		silence = until
	}
	start, told := group[0].start, 0
	for i := range group[:words] {
		s := &group[i]
		s.start = start + (silence-start)*told/letters
		if i == 0 || s.kind == tokenWord {
			told += s.runes
		}
		s.end = start + (silence-start)*told/letters
	}
	placePause(tail, silence, until)
}

// placePause assigns the pause to the first punctuation, or else to the first token.
func placePause(tail []span, from, until int) {
	if len(tail) == 0 {
		return
	}
	carrier := max(slices.IndexFunc(tail, func(s span) bool { return s.kind == tokenPunctuation }), 0)
	place(tail[:carrier], from, from)
	tail[carrier].start, tail[carrier].end = from, until
	place(tail[carrier+1:], until, until)
}

func place(spans []span, start, end int) []span {
	for i := range spans {
		spans[i].start, spans[i].end = start, end
	}
	return spans
}
