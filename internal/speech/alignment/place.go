package alignment

import (
	"math"
	"slices"
)

// centre returns the time of a frame in its sound, in seconds.
func centre(frame float64) float64 { return frame*hop + width/2 }

// words returns the reference's words at their places in the recording.
func (p path) words(reference []Word) []Word {
	words := make([]Word, len(reference))
	for i, r := range reference {
		w := Word{Text: r.Text, Start: p.time(r.Start), End: p.time(r.End), Confidence: p.confidence(r.Start, r.End)}
		for _, phoneme := range r.Phonemes {
			w.Phonemes = append(w.Phonemes, Phoneme{Name: phoneme.Name, Start: p.time(phoneme.Start), End: p.time(phoneme.End)})
		}
		words[i] = w
	}
	return words
}

// time converts a time of the reference into one of the recording.
func (p path) time(at float64) float64 {
	frame := (at - width/2) / hop
	if frame <= 0 {
		return max(0, centre(float64(p.first[0]))+frame*hop)
	}
	j := int(frame)
	if j >= len(p.first)-1 {
		return centre(float64(p.last[len(p.last)-1])) + (frame-float64(len(p.first)-1))*hop
	}
	middle := func(j int) float64 { return float64(p.first[j]+p.last[j]) / 2 }
	part := frame - float64(j)
	return centre(middle(j)*(1-part) + middle(j+1)*part)
}

// confidence compares the mean distance along a part of the path with the mean distance of unrelated frames.
func (p path) confidence(start, end float64) float64 {
	from := min(max(int(math.Round((start-width/2)/hop)), 0), len(p.cost)-1)
	to := min(max(int(math.Round((end-width/2)/hop)), from+1), len(p.cost))
	sum, frames, taken := 0.0, 0.0, 0.0
	for j := from; j < to; j++ {
		sum += p.cost[j]
		frames++
		taken += float64(p.last[j] - p.first[j] + 1)
	}
	if p.typical == 0 || frames == 0 {
		return 0
	}
	near := 1 - sum/frames/p.typical
	pace := math.Abs(math.Log2(taken / frames)) // a compressed or stretched word is seldom in the right place
	return min(max(2*near, 0), 1) * math.Exp2(-max(0, pace-1))
}

const (
	reach       = 0.10 // maximum distance of an edge of speech from a word in seconds
	shortest    = 0.05 // seconds of silence that make an edge
	pauseBefore = 0.03 // seconds of silence in the reference from which an edge is expected
)

// snap moves words that begin or end at a pause to the edges of speech in the recording.
func snap(words []Word, recording features, reference []Word) {
	onsets, offsets := edges(recording.silent)
	for i := range words {
		w := &words[i]
		if i == 0 || reference[i].Start-reference[i-1].End > pauseBefore {
			w.Start = nearest(onsets, w.Start)
		}
		if i == len(words)-1 || reference[i+1].Start-reference[i].End > pauseBefore {
			w.End = nearest(offsets, w.End)
		}
		if len(w.Phonemes) > 0 {
			w.Phonemes[0].Start, w.Phonemes[len(w.Phonemes)-1].End = w.Start, w.End
		}
	}
}

// edges returns the times at which speech begins after, and ends before, a silence.
func edges(silent []bool) (onsets, offsets []float64) {
	quiet := math.MaxInt // frames of silence so far; unlimited before the sound
	for i, s := range silent {
		if !s {
			if float64(quiet)*hop >= shortest {
				onsets = append(onsets, centre(float64(i)-0.5))
			}
			quiet = 0
			continue
		}
		if quiet == 0 && lasts(silent[i:]) {
			offsets = append(offsets, centre(float64(i)-0.5))
		}
		if quiet < math.MaxInt {
			quiet++
		}
	}
	if quiet == 0 {
		offsets = append(offsets, centre(float64(len(silent))-0.5))
	}
	return onsets, offsets
}

func lasts(silent []bool) bool {
	i := slices.Index(silent, false)
	return i < 0 || float64(i)*hop >= shortest
}

func nearest(times []float64, to float64) float64 {
	best, distance := to, reach
	for _, at := range times {
		if d := math.Abs(at - to); d < distance {
			best, distance = at, d
		}
	}
	return best
}

// Pace returns the ratio of the lengths of speech, without silence, in a recording and in a reference. It is 1 if noise
// hides the silence.
func Pace(recording, reference Sound) float64 {
	a, b := listen(recording), listen(reference)
	if a.spoken() == 0 || b.spoken() == 0 {
		return 1
	}
	return math.Pow(a.spoken()/b.spoken(), a.clarity())
}

// spoken returns the number of frames that are not silent.
func (a activity) spoken() (frames float64) {
	for _, silent := range a.silent {
		if !silent {
			frames++
		}
	}
	return frames
}

const (
	quietest  = -60 // dB of full scale: below this level a recording has no speech
	steadiest = 3   // dB: the contrast of a noise without audible speech
)

// HasSpeech reports whether a sound is long, loud and varied enough to hold speech.
func HasSpeech(sound Sound) bool {
	a := listen(sound)
	return len(a.silent) > 0 && a.loud > quietest && a.contrast > steadiest
}
