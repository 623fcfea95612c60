package acoustics

import (
	"math"
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/dsp/window"
)

// Bands is the number of mel bands of a spectrum.
const Bands = 32

const (
	width        = 0.032 // seconds of a spectrum
	lowestHertz  = 60    // of the analysed band
	highestHertz = 8000
	lowestBand   = 80   // Hz
	highestBand  = 7600 // Hz
	leastPower   = 1e-10
)

// BandHertz returns the middle of a band.
func BandHertz(band int) float64 {
	low, high := mel(lowestBand), mel(highestBand)
	return 700 * (math.Pow(10, (low+(high-low)*float64(band+1)/(Bands+1))/2595) - 1)
}

func mel(hertz float64) float64 { return 2595 * math.Log10(1+hertz/700) }

// Weight is the share of a bin of a spectrum in a band.
type Weight struct {
	Bin   int
	Share float64
}

// MelFilters returns overlapping triangles of equal width on the mel scale (O'Shaughnessy, 1987) between two
// frequencies in Hz, for the bins of a transform of a number of samples.
func MelFilters(bands int, lowest, highest float64, samples, rate int) [][]Weight {
	low, high := mel(lowest), mel(highest)
	filters := make([][]Weight, bands)
	for bin := range samples/2 + 1 {
		at := (mel(float64(bin)*float64(rate)/float64(samples)) - low) / (high - low) * float64(bands+1)
		for b := range filters {
			if share := 1 - math.Abs(at-float64(b+1)); share > 0 {
				filters[b] = append(filters[b], Weight{Bin: bin, Share: share})
			}
		}
	}
	return filters
}

// spectrograph measures the spectra of frames.
type spectrograph struct {
	rate    int
	fft     *fourier.FFT
	shape   []float64 // Hann's window
	frame   []float64
	whole   []complex128
	bins    int // used
	scale   float64
	filters [][]Weight
	bands   int // below half the rate
}

func newSpectrograph(rate int) *spectrograph {
	size := int(width * float64(rate))
	length := PowerOfTwo(size)
	s := &spectrograph{
		rate: rate, fft: fourier.NewFFT(length), shape: hann(size), frame: make([]float64, length),
		whole: make([]complex128, length/2+1),
		bins:  min(length/2, highestHertz*length/rate) + 1, filters: MelFilters(Bands, lowestBand, highestBand, length, rate),
	}
	for _, w := range s.shape {
		s.scale += w * w
	}
	s.scale = 2 / (s.scale * float64(length)) // so that a frame's powers add up to the mean square of its samples
	for s.bands < Bands && BandHertz(s.bands) < float64(rate)/2 {
		s.bands++
	}
	for b := range s.filters {
		s.filters[b] = slices.DeleteFunc(s.filters[b], func(w Weight) bool { return w.Bin >= s.bins })
	}
	return s
}

// PowerOfTwo returns the lowest power of two that is at least size.
func PowerOfTwo(size int) int { return 1 << bits.Len(uint(size-1)) }

// each returns the distance between bins in Hz.
func (s *spectrograph) each() float64 { return float64(s.rate) / float64(s.fft.Len()) }

func hann(size int) []float64 { return window.Hann(slices.Repeat([]float64{1}, size)) }

// transform computes the spectrum around a sample.
func (s *spectrograph) transform(samples []float64, centre int) []complex128 {
	from := centre - len(s.shape)/2
	for i, w := range s.shape {
		s.frame[i] = w * samples[from+i]
	}
	clear(s.frame[len(s.shape):])
	return s.fft.Coefficients(s.whole, s.frame)
}

// measure sets the spectra and levels of a block.
func (s *spectrograph) measure(b *block) {
	powers := make([]float32, len(b.frames)*s.bins)
	lowest := int(math.Ceil(lowestHertz * float64(s.fft.Len()) / float64(s.rate)))
	for i := range b.frames {
		f := &b.frames[i]
		f.power, powers = powers[:s.bins:s.bins], powers[s.bins:]
		whole, sum := s.transform(b.samples, f.centre), 0.0
		for bin := lowest; bin < s.bins; bin++ {
			c := whole[bin]
			p := s.scale * (real(c)*real(c) + imag(c)*imag(c))
			f.power[bin] = float32(p)
			sum += p
		}
		f.level = decibels(sum)
		for band, filter := range s.filters {
			f.bands[band] = decibels(weigh(filter, f.power))
		}
	}
}

func weigh(filter []Weight, power []float32) (sum float64) {
	for _, w := range filter {
		sum += w.Share * float64(power[w.Bin])
	}
	return sum
}

func decibels(power float64) float64 { return 10 * math.Log10(max(power, leastPower)) }

// Noise reduction.
const (
	memory    = 0.96 // weight of the earlier spectra in the ratio of speech to noise
	leastGain = 0.1
)

// enhance removes steady noise from the samples of a block, by a Wiener filter for the ratio of speech to noise,
// averaged over time (Ephraim and Malah, 1984).
func (s *spectrograph) enhance(b *block, noise []float64) {
	length, step := s.fft.Len(), len(s.shape)/4
	sum, weights := make([]float64, len(b.samples)), make([]float64, len(b.samples))
	ratios, sound := make([]float64, len(noise)), make([]float64, length)
	half := len(s.shape) / 2
	for centre := half; centre+len(s.shape)-half <= len(b.samples); centre += step {
		whole := s.transform(b.samples, centre)
		gain := 1.0
		for bin := range whole {
			if bin < len(noise) {
				c := whole[bin]
				now := s.scale * (real(c)*real(c) + imag(c)*imag(c)) / max(noise[bin], leastPower*s.scale)
				ratio := memory*ratios[bin] + (1-memory)*max(now-1, 0)
				gain = max(ratio/(1+ratio), leastGain)
				ratios[bin] = gain * gain * now
			}
			whole[bin] *= complex(gain, 0) // above the analysed band the last gain applies
		}
		s.fft.Sequence(sound, whole)
		for i, w := range s.shape {
			sum[centre-half+i] += w * sound[i] / float64(length)
			weights[centre-half+i] += w * w
		}
	}
	for i := range b.samples {
		b.samples[i] = sum[i] / max(weights[i], 0.1)
	}
}
