package acoustics

import (
	"math"
	"slices"
)

// activity finds speech by the distance of a frame from the noise in all bands together, in units of the noise's
// variation in each band. A hiss, a hum and a crowd of voices thus have different thresholds.
type activity struct {
	before []frame // of the previous block; its pauses count as well
}

const (
	deepest     = 55.0 // dB below the loudest speech, from which recordings count as silent
	guard       = 8    // frames around speech that are not noise
	fewFrames   = 4    // that can be speech on their own
	manyFrames  = 30   // that are speech even if none stands out far
	gap         = 15   // frames of silence within a word, such as before a plosive
	quietSpeech = 32.0 // dB by which a stretch of speech may be below the loudest
	quietest    = -65  // dB of full scale, below which there is no speech
	leastRange  = 2.5  // dB between noise and the loudest in all bands, if there is speech
	rounds      = 3
)

// find marks the frames of a block that are speech, and those that are quiet.
func (a *activity) find(b *block, bands int) {
	all := append(slices.Clone(a.before), b.frames...)
	own := all[len(a.before):]
	a.before = slices.Clone(b.frames) // noise reduction changes these
	levels, means := make([]float64, len(all)), make([]float64, len(all))
	for i := range all {
		levels[i] = all[i].level
		for _, level := range all[i].bands[:bands] {
			means[i] += level / float64(bands)
		}
	}
	levels, means = smooth(levels), smooth(means)
	loudest := quantile(levels, 0.97)
	most, least := quantile(means, 0.97), quantile(means, 0.05)
	if most-least < leastRange || loudest < quietest {
		mark(all, func(int) bool { return false })
		copy(b.frames, own)
		return
	}
	mark(all, func(i int) bool { return means[i] > least+min(10, 0.3*(most-least)) })
	for round := range rounds {
		scores := smooth(score(all, bands, loudest-deepest))
		speech := voices(all, scores, levels, loudest)
		if round > 0 && len(speech) == 0 {
			break
		}
		mark(all, func(i int) bool {
			return slices.ContainsFunc(speech, func(s span) bool { return i >= s.from && i < s.to })
		})
	}
	copy(b.frames, own)
}

// voices returns the stretches of speech. If there are none in noise that varies like speech, it lowers the threshold.
func voices(frames []frame, scores, levels []float64, loudest float64) (speech []span) {
	for part := 1.0; len(speech) == 0 && part > 0.1; part /= 2 {
		low, high := thresholds(frames, scores, part)
		speech = slices.DeleteFunc(stretches(scores, low, high), func(s span) bool {
			peak := slices.Max(levels[s.from:s.to])
			return peak < loudest-quietSpeech || peak < quietest
		})
		for i := range speech {
			if low == steady {
				speech[i].widen(scores)
			}
		}
	}
	return speech
}

// Speech that fades into steady noise: the frames next to speech that are above the noise together, but not alone.
const (
	steady      = 0.5 // the least low threshold
	faintScore  = 0.25
	faintFrames = 8
	mostFaint   = 12
)

// widen adds the frames next to a stretch while the mean score of the next ones indicates faint speech.
func (s *span) widen(scores []float64) {
	for limit := max(s.from-mostFaint, 0); s.from > limit; s.from-- {
		if mean(scores[max(s.from-faintFrames, 0):s.from]) < faintScore {
			break
		}
	}
	for limit := min(s.to+mostFaint, len(scores)); s.to < limit; s.to++ {
		if mean(scores[s.to:min(s.to+faintFrames, len(scores))]) < faintScore {
			break
		}
	}
}

func mean(values []float64) (mean float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	return mean
}

// mark marks the frames that are speech, and those far from any.
func mark(frames []frame, speech func(i int) bool) {
	last := math.MinInt / 2
	for i := range frames {
		frames[i].speech = speech(i)
		if frames[i].speech {
			last = i
		}
		frames[i].quiet = i-last > guard
	}
	next := math.MaxInt / 2
	for i := len(frames) - 1; i >= 0; i-- {
		if frames[i].speech {
			next = i
		}
		frames[i].quiet = frames[i].quiet && next-i > guard
	}
}

// quantile returns a quantile of values in any order.
func quantile(values []float64, part float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(part*float64(len(sorted)-1))]
}

// smooth returns means over three frames.
func smooth(values []float64) []float64 {
	means := make([]float64, len(values))
	for i := range values {
		means[i] = mean(values[max(i-1, 0):min(i+2, len(values))])
	}
	return means
}

// score returns the distance of each frame from the noise, in deviations of the noise.
func score(frames []frame, bands int, silence float64) []float64 {
	scores := make([]float64, len(frames))
	for band := range bands {
		mean, deviation := background(frames, band, silence-10)
		for i := range frames {
			scores[i] += min(max((frames[i].bands[band]-mean)/deviation, -1), 8) / float64(bands)
		}
	}
	return scores
}

// background returns the median and the deviation of a band in the quiet frames, or in its lowest tenth if there are
// few of these. The deviation is computed from the lower values, because the higher ones may include speech. Values
// below least count as least, so that digital silence between words does not make the noise vary as much as speech.
func background(frames []frame, band int, least float64) (mean, deviation float64) {
	var values, all []float64
	for i := range frames {
		value := max(frames[i].bands[band], least)
		if all = append(all, value); frames[i].quiet {
			values = append(values, value)
		}
	}
	if len(values) < fewQuiet {
		slices.Sort(all)
		values = all[:max(len(all)/10, 1)]
	}
	mean, lower := quantile(values, 0.5), quantile(values, 0.16)
	return mean, max(mean-lower, 1.5)
}

// thresholds returns the score that speech must reach somewhere, and the score below which it must not fall. part is
// the weight of the noise's variation.
func thresholds(frames []frame, scores []float64, part float64) (low, high float64) {
	var values []float64
	for i := range frames {
		if frames[i].quiet {
			values = append(values, scores[i])
		}
	}
	if len(values) < fewQuiet {
		return 0.8, 1.6
	}
	middle, lower := quantile(values, 0.5), quantile(values, 0.05)
	return max(steady, middle+part*1.2*(middle-lower)), max(1.2, middle+part*2.4*(middle-lower))
}

type span struct{ from, to int }

// stretches returns the stretches around scores above high in which scores stay above low, joined over short gaps.
func stretches(scores []float64, low, high float64) (all []span) {
	for i := 0; i < len(scores); i++ {
		if scores[i] < low {
			continue
		}
		s, peaks := span{from: i}, 0
		for ; i < len(scores) && scores[i] >= low; i++ {
			if scores[i] >= high {
				peaks++
			}
		}
		s.to = i
		switch last := len(all) - 1; {
		case peaks < fewFrames && s.to-s.from < manyFrames:
		case last >= 0 && s.from-all[last].to <= gap:
			all[last].to = s.to
		default:
			all = append(all, s)
		}
	}
	return all
}
