package alignment

import (
	"iter"
	"math"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/dsp/window"

	"github.com/recital-tts/recital/internal/speech/acoustics"
)

const (
	hop       = 0.010 // seconds between frames
	width     = 0.025 // seconds of a frame
	bands     = 26    // of the mel scale
	cepstra   = 13
	lowest    = 80.0   // Hz
	highest   = 7000.0 // Hz
	emphasis  = 0.97
	fullScale = 1 << 15
	leastLoud = 1e-10 // power of digital silence
)

// features are the compared features of a sound, one row for each frame.
type features struct {
	rows []row
	activity
}

// row holds the cepstra of a frame, and their slopes.
type row [2 * cepstra]float32

// activity is derived from the levels of the frames, at a small part of the cost of their spectra.
type activity struct {
	silent   []bool
	loud     float64 // dB, of speech
	contrast float64 // dB, between speech and the background
}

// clarity returns the degree to which levels distinguish silence from speech: 0 in a noise that hides the weaker
// sounds, 1 without noise.
func (a activity) clarity() float64 {
	return min(max((a.contrast-hidden)/(clean-hidden), 0), 1)
}

// Contrasts in dB.
const (
	hidden = 18.0
	clean  = 40.0
)

func (f features) frames() int { return len(f.rows) }

// layout is the arrangement of frames in a sound.
type layout struct {
	size, frames int     // samples of a frame, and the number of frames
	step         float64 // samples
}

func layoutOf(sound Sound) layout {
	l := layout{size: int(width * float64(sound.Rate)), step: hop * float64(sound.Rate)}
	for l.size > 0 && l.start(l.frames)+l.size <= len(sound.Samples) {
		l.frames++
	}
	return l
}

func (l layout) start(frame int) int { return int(float64(frame) * l.step) }

// listen returns the activity in a sound.
func listen(sound Sound) activity {
	l := layoutOf(sound)
	if l.frames == 0 {
		return activity{}
	}
	levels := make([]float64, l.frames)
	for i := range levels {
		squares, start := 0, l.start(i)
		for _, sample := range sound.Samples[start : start+l.size] {
			squares += int(sample) * int(sample)
		}
		levels[i] = 10 * math.Log10(leastLoud+float64(squares)/float64(l.size)/(fullScale*fullScale))
	}
	return activityOf(levels)
}

// extract returns mel-frequency cepstra (Davis and Mermelstein, 1980) of the selected frames, and zeros for the others.
func extract(sound Sound, looked func(activity) iter.Seq2[int, int]) features {
	l := layoutOf(sound)
	f := features{rows: make([]row, l.frames), activity: listen(sound)}
	if l.frames == 0 {
		return f
	}
	x := newExtractor(l.size, sound.Rate)
	for from, to := range looked(f.activity) {
		for i := from; i < to; i++ {
			x.measure(sound.Samples, l.start(i), &f.rows[i])
		}
	}
	return f
}

type extractor struct {
	fft      *fourier.FFT
	frame    []float64
	spectrum []complex128
	hamming  []float64
	filters  [][]acoustics.Weight
	cosines  [cepstra][bands]float64
}

// newExtractor returns an extractor for frames of a size in samples at a rate in Hz.
func newExtractor(size, rate int) *extractor {
	length := acoustics.PowerOfTwo(size)
	return &extractor{
		fft: fourier.NewFFT(length), frame: make([]float64, length),
		filters:  acoustics.MelFilters(bands, lowest, min(highest, float64(rate)/2), length, rate),
		spectrum: make([]complex128, length/2+1), cosines: cosines(),
		hamming: window.Hamming(slices.Repeat([]float64{1}, size)),
	}
}

// measure sets the cepstra of the frame that starts at a sample.
func (x *extractor) measure(samples []int16, start int, of *row) {
	clear(x.frame)
	for i, shape := range x.hamming {
		before := 0.0
		if start+i > 0 {
			before = float64(samples[start+i-1]) / fullScale
		}
		sample := float64(samples[start+i]) / fullScale
		x.frame[i] = (sample - emphasis*before) * shape
	}
	x.fft.Coefficients(x.spectrum, x.frame)
	var logs [bands]float64
	for b, filter := range x.filters {
		sum := leastLoud
		for _, w := range filter {
			c := x.spectrum[w.Bin]
			sum += w.Share * (real(c)*real(c) + imag(c)*imag(c))
		}
		logs[b] = math.Log(sum)
	}
	for c := range cepstra {
		sum := 0.0
		for b := range logs {
			sum += x.cosines[c][b] * logs[b]
		}
		of[c] = float32(sum)
	}
}

// cosines is the orthonormal transform of the bands' logarithms (DCT-II).
func cosines() (table [cepstra][bands]float64) {
	for c := range table {
		scale := math.Sqrt(2.0 / bands)
		if c == 0 {
			scale = math.Sqrt(1.0 / bands)
		}
		for b := range table[c] {
			table[c][b] = scale * math.Cos(math.Pi*float64(c)*(float64(b)+0.5)/bands)
		}
	}
	return table
}

// activityOf finds the frames that are closer to the background than to speech, and the contrast of the two.
func activityOf(levels []float64) activity {
	sorted := slices.Sorted(slices.Values(levels))
	loud := sorted[len(sorted)-1-loudest(len(sorted))]
	floor := max(sorted[len(sorted)*5/100], loud-50)
	threshold := floor + max(6, 0.3*(loud-floor))
	a := activity{silent: make([]bool, len(levels)), loud: loud, contrast: loud - floor}
	for i, level := range levels {
		a.silent[i] = level < threshold
	}
	return a
}

// loudest returns the number of frames above the level of speech: a twentieth, but at most a second's, so that a
// recording may consist mostly of silence.
func loudest(frames int) int { return min(frames/20, int(1/hop)) }

// normalise subtracts the mean of the speech from each cepstrum, and brings the deviations closer together, so that
// voice, microphone and room matter less. Then it adds the slopes. The usual deviations of 1 would give the finest
// detail of the spectrum, which differs most between voices, the same weight as the rest.
func (f *features) normalise() {
	for c := range cepstra {
		var n, sum, squares float64
		for i := range f.rows {
			if !f.silent[i] {
				value := float64(f.rows[i][c])
				n, sum, squares = n+1, sum+value, squares+value*value
			}
		}
		if n == 0 {
			continue
		}
		mean := sum / n
		deviation := math.Sqrt(max(squares/n-mean*mean, 1e-6))
		for i := range f.rows {
			f.rows[i][c] = float32((float64(f.rows[i][c]) - mean) / math.Sqrt(deviation))
		}
	}
	f.addSlopes()
}

// sloped is the number of frames on each side that the slope of a frame depends on.
const sloped = 2

// addSlopes sets each cepstrum's regression over five frames (Furui, 1986).
func (f *features) addSlopes() {
	last := len(f.rows) - 1
	for i := range f.rows {
		slopes := f.rows[i][cepstra:]
		for c := range slopes {
			for k := 1; k <= sloped; k++ {
				slopes[c] += float32(k) * (f.rows[min(i+k, last)][c] - f.rows[max(i-k, 0)][c]) / 10
			}
		}
	}
}
