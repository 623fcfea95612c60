package alignment

import (
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
	leastLoud = 1e-10 // power, of a silence that is digital
)

// features are what is compared of a sound, one row for each frame.
type features struct {
	rows   [][]float32
	levels []float64 // dB, of each frame
	silent []bool

	contrast float64 // dB, between speech and the background
}

// clarity is how far silence can be told from speech by its level: 0 in a noise that hides the weaker sounds, 1 in
// none.
func (f features) clarity() float64 {
	return min(max((f.contrast-hidden)/(clean-hidden), 0), 1)
}

// Contrasts in dB.
const (
	hidden = 18.0
	clean  = 40.0
)

func (f features) frames() int { return len(f.rows) }

// extract returns mel-frequency cepstra (Davis and Mermelstein, 1980).
func extract(sound Sound) features {
	size := int(width * float64(sound.Rate))
	step := hop * float64(sound.Rate)
	if size == 0 || len(sound.Samples) < size {
		return features{}
	}
	length := 1
	for length < size {
		length *= 2
	}
	x := extractor{
		fft: fourier.NewFFT(length), frame: make([]float64, length),
		filters:  acoustics.MelFilters(bands, lowest, min(highest, float64(sound.Rate)/2), length, sound.Rate),
		spectrum: make([]complex128, length/2+1), hamming: window.Hamming(ones(size)), cosines: cosines(),
	}
	var f features
	for i := 0; ; i++ {
		start := int(float64(i) * step)
		if start+size > len(sound.Samples) {
			break
		}
		row, level := x.row(sound.Samples, start)
		f.rows = append(f.rows, row)
		f.levels = append(f.levels, level)
	}
	f.silent, f.contrast = silences(f.levels)
	return f
}

func ones(n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = 1
	}
	return values
}

type extractor struct {
	fft      *fourier.FFT
	frame    []float64
	spectrum []complex128
	hamming  []float64
	filters  [][]acoustics.Weight
	cosines  [cepstra][bands]float64
}

func (x *extractor) row(samples []int16, start int) (row []float32, level float64) {
	clear(x.frame)
	power := leastLoud
	for i, shape := range x.hamming {
		before := 0.0
		if start+i > 0 {
			before = float64(samples[start+i-1]) / fullScale
		}
		sample := float64(samples[start+i]) / fullScale
		power += sample * sample / float64(len(x.hamming))
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
	row = make([]float32, cepstra)
	for c := range row {
		sum := 0.0
		for b := range logs {
			sum += x.cosines[c][b] * logs[b]
		}
		row[c] = float32(sum)
	}
	return row, 10 * math.Log10(power)
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

// silences reports which frames are closer to the background than to speech, and how far apart these are in dB.
func silences(levels []float64) (silent []bool, contrast float64) {
	sorted := slices.Sorted(slices.Values(levels))
	loud := sorted[len(sorted)-1-loudest(len(sorted))]
	floor := max(sorted[len(sorted)*5/100], loud-50)
	threshold := floor + max(6, 0.3*(loud-floor))
	silent = make([]bool, len(levels))
	for i, level := range levels {
		silent[i] = level < threshold
	}
	return silent, loud - floor
}

// loudest is the number of frames that are louder than speech is said to be: a twentieth, but not more than a second's,
// so that there may be any silence about it.
func loudest(frames int) int { return min(frames/20, int(1/hop)) }

// normalise takes the mean of the speech from each cepstrum, and brings the deviations closer together, so that voice,
// microphone and room count less; then it adds the slopes. Deviations of 1, as is usual, would give the finest detail
// of the spectrum, which differs most between voices, as much weight as the rest.
func (f *features) normalise() {
	for c := range cepstra {
		var n, sum, squares float64
		for i, row := range f.rows {
			if !f.silent[i] {
				n, sum, squares = n+1, sum+float64(row[c]), squares+float64(row[c])*float64(row[c])
			}
		}
		if n == 0 {
			continue
		}
		mean := sum / n
		deviation := math.Sqrt(max(squares/n-mean*mean, 1e-6))
		for _, row := range f.rows {
			row[c] = float32((float64(row[c]) - mean) / math.Sqrt(deviation))
		}
	}
	f.addSlopes()
}

// addSlopes appends each cepstrum's regression over five frames (Furui, 1986).
func (f *features) addSlopes() {
	last := len(f.rows) - 1
	slopes := make([][cepstra]float32, len(f.rows))
	for i := range f.rows {
		for c := range cepstra {
			for k := 1; k <= 2; k++ {
				slopes[i][c] += float32(k) * (f.rows[min(i+k, last)][c] - f.rows[max(i-k, 0)][c]) / 10
			}
		}
	}
	for i := range f.rows {
		f.rows[i] = append(f.rows[i], slopes[i][:]...)
	}
}
