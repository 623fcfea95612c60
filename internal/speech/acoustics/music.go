package acoustics

import "math"

// Speech changes its colour with each sound, and its level with each syllable. Music keeps its colour for the length of
// a note (drums keep it altogether), and music that changes its colour with each note keeps its level. Both remain
// measurable in noise at 10 dB.
const (
	soundFrames = 5    // in which a sound changes into the next
	heard       = 50.0 // dB below the loudest frame, from which levels count

	leastColour, surelyColour = 4.0, 4.6  // dB: music is below, speech above
	leastSpread, surelySpread = 7.0, 10.0 // dB
)

// Music returns the likeness of a recording to music rather than speech: from 0 to 1, 0 without speech.
func (s *Statistics) Music() float64 {
	if s.Colour == 0 && s.Range == 0 {
		return 0
	}
	colour := (ratio(s.Colour, s.Speech) - leastColour) / (surelyColour - leastColour)
	levels := (ratio(s.Range, s.Speech) - leastSpread) / (surelySpread - leastSpread)
	return 1 - min(max(colour, 0), 1)*min(max(levels, 0), 1)
}

// moves returns the changes of the used speech in dB: the change of its colour within soundFrames, as the root mean
// square over the bands without the level, and the range of its level from the 10th to the 90th percentile.
func (b *block) moves(bands int) (colour, levels float64) {
	least := b.frames[0].level
	for i := range b.frames {
		least = max(least, b.frames[i].level)
	}
	least -= heard
	var all []float64
	for i := range b.frames {
		if f := &b.frames[i]; f.speech && !f.useless {
			all = append(all, max(f.level, least))
			colour += recoloured(f, &b.frames[max(i-soundFrames, 0)], bands, least)
		}
	}
	if len(all) == 0 {
		return 0, 0
	}
	return colour / float64(len(all)), quantile(all, 0.9) - quantile(all, 0.1)
}

// recoloured returns the distance between the bands of two frames, apart from their levels.
func recoloured(f, before *frame, bands int, least float64) float64 {
	sum, squares := 0.0, 0.0
	for band, level := range f.bands[:bands] {
		change := max(level, least) - max(before.bands[band], least)
		sum += change
		squares += change * change
	}
	mean := sum / float64(bands)
	return math.Sqrt(max(squares/float64(bands)-mean*mean, 0))
}
