package acoustics

import "math"

// Statistics are sums over the speech of recordings. The sums of several recordings can be added.
type Statistics struct {
	Speech    float64             `json:"speech"` // seconds
	Voiced    float64             `json:"voiced"` // seconds
	Syllables float64             `json:"syllables"`
	Pitch     histogram           `json:"pitch"`    // of voiced frames
	Formants  [formants]histogram `json:"formants"` // of vowels
	Spectrum  [Bands]float64      `json:"spectrum"` // power without the noise's, times seconds
	Levels    [Bands]float64      `json:"levels"`   // in dB of full scale, times seconds
	Harmonics float64             `json:"harmonics"`
	Colour    float64             `json:"colour"` // changes of the bands in dB, times seconds
	Range     float64             `json:"range"`  // of the level in dB, times seconds
}

// Add adds the sums of other recordings.
func (s *Statistics) Add(other Statistics) {
	s.Speech += other.Speech
	s.Voiced += other.Voiced
	s.Syllables += other.Syllables
	s.Harmonics += other.Harmonics
	s.Colour += other.Colour
	s.Range += other.Range
	s.Pitch.add(other.Pitch)
	for i := range s.Formants {
		s.Formants[i].add(other.Formants[i])
	}
	for i := range s.Spectrum {
		s.Spectrum[i] += other.Spectrum[i]
		s.Levels[i] += other.Levels[i]
	}
}

// PitchQuantile returns a quantile (0 to 1) of the fundamental frequency in Hz, 0 without voiced speech.
func (s *Statistics) PitchQuantile(part float64) float64 { return pitchScale.quantile(s.Pitch, part) }

// Formant returns the median of a formant (0 to 2, for F1 to F3) over all vowels in Hz, 0 without any.
func (s *Statistics) Formant(which int) float64 {
	return formantScale.quantile(s.Formants[which], 0.5)
}

// Pace returns the syllables per second of speech, without pauses.
func (s *Statistics) Pace() float64 { return ratio(s.Syllables, s.Speech) }

// Harmonicity returns the mean ratio of harmonics to noise in the voice, in dB (Boersma, 1993). It is lower for breathy
// voices and for noisy recordings.
func (s *Statistics) Harmonicity() float64 { return ratio(s.Harmonics, s.Voiced) }

// LongTermSpectrum returns the levels of the bands in dB of their sum, at least -80.
func (s *Statistics) LongTermSpectrum() (levels [Bands]float64) {
	sum := total(s.Spectrum[:])
	for i, power := range s.Spectrum {
		levels[i] = max(10*math.Log10(max(ratio(power, sum), 1e-12)), -80)
	}
	return levels
}

// MeanLevels returns the mean levels of the bands in dB of full scale. Each moment of speech counts the same, while
// loud moments dominate the long-term spectrum.
func (s *Statistics) MeanLevels() (levels [Bands]float64) {
	for i, level := range s.Levels {
		levels[i] = ratio(level, s.Speech)
	}
	return levels
}

func ratio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}

// histogram counts seconds by frequency, on a logarithmic scale.
type histogram [160]float64

func (h *histogram) add(other histogram) {
	for i := range h {
		h[i] += other[i]
	}
}

// scale is the scale of a histogram.
type scale struct {
	lowest float64 // Hz
	steps  float64 // of an octave
}

var (
	pitchScale   = scale{lowest: 50, steps: 48}
	formantScale = scale{lowest: 150, steps: 30}
)

func (s scale) count(h *histogram, hertz, seconds float64) {
	if at := int(s.steps * math.Log2(hertz/s.lowest)); hertz > s.lowest && at < len(h) {
		h[at] += seconds
	}
}

func (s scale) quantile(h histogram, part float64) float64 {
	all := total(h[:])
	if all <= 0 {
		return 0
	}
	left := part * all
	for i, seconds := range h {
		if seconds > 0 && left <= seconds {
			return s.lowest * math.Exp2((float64(i)+left/seconds)/s.steps)
		}
		left -= seconds
	}
	return s.lowest * math.Exp2(float64(len(h))/s.steps)
}
