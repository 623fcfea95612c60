package neural

import (
	"math"

	"github.com/recital-tts/recital/internal/speech"
)

// edges holds how the silence around the words of a sentence is shortened. All values are frames.
type edges struct {
	// lead and tail are the numbers of ids before the first word and after the last word. Unless whole is set, each of
	// these ids lasts at most one frame at speed 1.
	lead, tail int

	whole  bool    // the silence is computed at the model's length and then cut off
	shift  float64 // from a sound to the symbol that it belongs to
	before float64 // kept before the first word, at speed 1
	last   float64 // kept of the last symbol before a pause, at speed 1
}

// lengths returns the frames of each id: the model's durations at the clause's speed, and the lengths of pauses.
func (p *performance) lengths(durations []float64, spans []span) []float64 {
	wanted := p.silences(durations, spans)
	edges := p.voice.Config.edges
	for _, s := range spans {
		if s.isPause && s.pause != speech.OwnPause {
			wanted[s.from] = p.frames(s.pause / s.speedOfPause(p.voice.Config))
			if edges.whole && s.from > 0 {
				wanted[s.from-1] = min(wanted[s.from-1], edges.last/s.speed)
			}
			continue
		}
		for i := s.from; i < s.to; i++ {
			wanted[i] = durations[i] / s.speed
		}
		wanted[s.to-1] += p.frames(s.gap / s.speedOfPause(p.voice.Config))
	}
	return wanted
}

// silences returns the frames of the ids before the first word and after the last word.
func (p *performance) silences(durations []float64, spans []span) []float64 {
	wanted := make([]float64, len(durations))
	edges, first, last := p.voice.Config.edges, spans[0], spans[len(spans)-1]
	if edges.whole {
		copy(wanted[:first.from], durations)
		copy(wanted[last.to:], durations[last.to:])
		return wanted
	}
	shorten := func(from, to int, like span) {
		for i := from; i < min(to, len(wanted)); i++ {
			wanted[i] = min(durations[i], 1) / like.speedOfPause(p.voice.Config)
		}
	}
	shorten(0, edges.lead, first) // the begin symbol and its pad
	shorten(last.to, last.to+edges.tail, last)
	return wanted
}

// cut is the audible part of a sentence's samples.
type cut struct {
	starts   []int // the start of each id and the end of the last one, counted from the first audible sample
	from, to int   // range within the sentence's samples
}

func (c cut) length() int { return c.to - c.from }

// cutFrom cuts a sentence in which each id has the given number of frames. The numbers may be fractions.
func cutFrom[T int | float64](p *performance, frames []T, spans []span) cut {
	edges, hop := p.voice.Config.edges, p.voice.model.Hop()
	c := cut{starts: make([]int, len(frames)+1)}
	before := 0.0
	for i, n := range append(frames, 0) {
		c.starts[i] = int(math.Round(max(before-edges.shift, 0) * hop))
		before += float64(n)
	}
	c.to = int(math.Round(before * hop))
	if !edges.whole {
		return c
	}
	last := spans[len(spans)-1]
	c.from = max(c.starts[spans[0].from]-int(edges.before/spans[0].speed*hop), 0)
	c.to = min(c.to, c.starts[last.to], c.starts[last.to-1]+int(edges.last/last.speed*hop))
	for i, start := range c.starts {
		c.starts[i] = max(min(start, c.to)-c.from, 0)
	}
	return c
}

// audible returns the audible part of samples, which begin at index at of the sentence.
func (c cut) audible(samples []float32, at int) []float32 {
	from, to := max(c.from-at, 0), min(c.to-at, len(samples))
	return samples[min(from, len(samples)):max(to, min(from, len(samples)))]
}
