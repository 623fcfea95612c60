// Package resample changes the rate of samples.
package resample

import "math"

// taps is the number of taps of the filter to each side of a sample. With 16, images are 60 dB down except at the top
// of the band, where flite's voices have little power.
const taps = 16

// Resampler changes the rate of a stream of samples by a windowed sinc (Smith, Digital Audio Resampling).
type Resampler struct {
	up, down int         // of the ratio of rates, in lowest terms
	filters  [][]float64 // for each of the up phases
	input    []float64   // the last 2*taps samples, and those added since
	at       int         // of the next output sample, in 1/up of an input sample from input[0] on
}

// New returns a resampler from one rate to another, in Hz.
func New(from, to int) *Resampler {
	divisor := gcd(from, to)
	r := &Resampler{up: to / divisor, down: from / divisor, input: make([]float64, taps)}
	r.at = taps * r.up
	band := min(1, float64(to)/float64(from))
	for phase := range r.up {
		r.filters = append(r.filters, sinc(float64(phase)/float64(r.up), band))
	}
	return r
}

// sinc returns the filter for a position at a fraction after the sample at index taps-1. It passes a fraction of the
// band.
func sinc(fraction, band float64) []float64 {
	filter := make([]float64, 2*taps)
	sum := 0.0
	for i := range filter {
		x := float64(i-taps+1) - fraction
		window := 0.5 + 0.5*math.Cos(math.Pi*x/taps)
		filter[i] = window
		if x != 0 {
			filter[i] *= math.Sin(math.Pi*x*band) / (math.Pi * x * band)
		}
		sum += filter[i]
	}
	for i := range filter {
		filter[i] /= sum
	}
	return filter
}

// Add adds samples and returns those that are ready.
func (r *Resampler) Add(samples []float64) []float64 {
	r.input = append(r.input, samples...)
	var out []float64
	for r.at/r.up+taps < len(r.input) {
		filter, from := r.filters[r.at%r.up], r.at/r.up-taps+1
		sum := 0.0
		for i, weight := range filter {
			sum += weight * r.input[from+i]
		}
		out = append(out, sum)
		r.at += r.down
	}
	if drop := r.at/r.up - taps; drop > 0 {
		r.input = append(r.input[:0], r.input[drop:]...)
		r.at -= drop * r.up
	}
	return out
}

// Finish returns the last samples.
func (r *Resampler) Finish() []float64 { return r.Add(make([]float64, taps)) }

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
