package flite

import "math"

// outputRate is espeak-ng's rate in Hz, so that one stream may contain speech of both engines.
const outputRate = 22050

// taps of the filter to each side of a sample. With 16 the images of the upper half of the band are 60 dB down, where
// flite's voices have little.
const taps = 16

// resampler changes the rate of a stream of samples by a windowed sinc (Smith, Digital Audio Resampling). It only
// raises the rate.
type resampler struct {
	up, down int         // of the ratio of rates, in lowest terms
	filters  [][]float64 // for each of the up phases
	input    []float64   // the last 2*taps and what was added since
	at       int         // of the next output sample, in 1/up of an input sample from input[0] on
}

// newResampler returns a resampler to outputRate.
func newResampler(from int) *resampler {
	divisor := gcd(from, outputRate)
	r := &resampler{up: outputRate / divisor, down: from / divisor, input: make([]float64, taps)}
	r.at = taps * r.up
	for phase := range r.up {
		r.filters = append(r.filters, sinc(float64(phase)/float64(r.up)))
	}
	return r
}

// sinc returns the filter for a position at a fraction after a sample; its middle is at index taps-1.
func sinc(fraction float64) []float64 {
	filter := make([]float64, 2*taps)
	sum := 0.0
	for i := range filter {
		x := float64(i-taps+1) - fraction
		window := 0.5 + 0.5*math.Cos(math.Pi*x/taps)
		filter[i] = window
		if x != 0 {
			filter[i] *= math.Sin(math.Pi*x) / (math.Pi * x)
		}
		sum += filter[i]
	}
	for i := range filter {
		filter[i] /= sum
	}
	return filter
}

// add adds samples and returns those that are ready.
func (r *resampler) add(samples []float64) []float64 {
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

// finish returns the last samples.
func (r *resampler) finish() []float64 { return r.add(make([]float64, taps)) }

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
