package acoustics

import "math"

const (
	formants  = 3
	order     = 12
	topHertz  = 5000.0 // highest formant
	points    = 200    // at which the envelope is computed
	vowelLike = 0.7    // least share of periodic power in a vowel
)

// resonator finds formants: the peaks of the all-pole envelope of the spectrum below topHertz (selective linear
// prediction, Makhoul 1975).
type resonator struct {
	top     float64              // Hz of the highest formant
	cosines [][order + 1]float64 // by bin
	weights []float64            // emphasis of high frequencies
	turns   [points][order + 1]complex128
}

func newResonator(s *spectrograph) *resonator {
	each := s.each()
	top := min(topHertz, float64(s.rate)/2)
	r := &resonator{top: top}
	for bin := 0; bin < s.bins && float64(bin)*each <= top; bin++ {
		angle := math.Pi * float64(bin) * each / top
		var row [order + 1]float64
		for k := range row {
			row[k] = math.Cos(float64(k) * angle)
		}
		r.cosines = append(r.cosines, row)
		r.weights = append(r.weights, 1+0.97*0.97-2*0.97*math.Cos(angle))
	}
	for i := range r.turns {
		for k := range r.turns[i] {
			angle := math.Pi * float64(i) / points * float64(k)
			r.turns[i][k] = complex(math.Cos(angle), -math.Sin(angle))
		}
	}
	return r
}

// count adds the formants of a frame if it is a vowel.
func (r *resonator) count(f *frame, found *[formants]histogram) {
	if f.harmonic < vowelLike {
		return
	}
	peaks := r.peaks(f.power)
	if len(peaks) < formants || peaks[0] > 1200 {
		return
	}
	for i := range found {
		formantScale.count(&found[i], peaks[i], hop)
	}
}

// peaks returns the frequencies in Hz at which the envelope of a spectrum has a peak.
func (r *resonator) peaks(power []float32) (found []float64) {
	var auto [order + 1]float64
	for bin, row := range r.cosines {
		p := float64(power[bin]) * r.weights[bin]
		for k := range auto {
			auto[k] += p * row[k]
		}
	}
	filter, ok := predict(auto)
	if !ok {
		return nil
	}
	var levels [points]float64
	for i := range levels {
		sum := complex(0, 0)
		for k, c := range filter {
			sum += complex(c, 0) * r.turns[i][k]
		}
		levels[i] = -math.Log(real(sum)*real(sum) + imag(sum)*imag(sum))
	}
	for i := 3; i+1 < points; i++ {
		before, here, after := levels[i-1], levels[i], levels[i+1]
		if here > before && here >= after {
			found = append(found, (float64(i)+0.5*(before-after)/(before-2*here+after))*r.top/points)
		}
	}
	return found
}

// predict returns the filter of linear prediction (Levinson, 1947, and Durbin, 1960).
func predict(auto [order + 1]float64) (filter [order + 1]float64, ok bool) {
	left := auto[0] * (1 + 1e-6)
	filter[0] = 1
	for i := 1; i <= order; i++ {
		if left <= 0 {
			return filter, false
		}
		sum := auto[i]
		for j := 1; j < i; j++ {
			sum += filter[j] * auto[i-j]
		}
		reflection, before := -sum/left, filter
		for j := 1; j < i; j++ {
			filter[j] = before[j] + reflection*before[i-j]
		}
		filter[i] = reflection
		left *= 1 - reflection*reflection
	}
	return filter, true
}

// Syllables, by the peaks of the level between 300 and 3300 Hz in voiced speech (de Jong and Wempe, 2009). The level is
// smoothed, so that tremor within a vowel makes no peak.
const (
	dip        = 3.0  // dB between two peaks
	faint      = 25.0 // dB below the loudest frame
	smoothings = 4    // over three frames each
)

// syllables counts the nuclei of the syllables in the used speech.
func (b *block) syllables(s *spectrograph) (count int) {
	levels := make([]float64, len(b.frames))
	each := s.each()
	from, to := int(300/each), min(int(3300/each), s.bins)
	loudest := decibels(0)
	for i := range b.frames {
		sum := 0.0
		for _, p := range b.frames[i].power[from:to] {
			sum += float64(p)
		}
		levels[i] = decibels(sum)
		loudest = max(loudest, levels[i])
	}
	for range smoothings {
		levels = smooth(levels)
	}
	lowest, peak := math.Inf(1), -1 // the lowest since the last nucleus, and the highest since that
	for i, level := range levels {
		switch {
		case peak >= 0 && level < levels[peak]-dip:
			if f := &b.frames[peak]; f.pitch > 0 && !f.useless && levels[peak] > loudest-faint {
				count++
			}
			lowest, peak = level, -1
		case peak >= 0 && level > levels[peak], peak < 0 && level > lowest+dip:
			peak = i
		case peak < 0:
			lowest = min(lowest, level)
		}
	}
	return count
}
