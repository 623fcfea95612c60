package mastering

import (
	"math"
	"math/cmplx"

	"gonum.org/v1/gonum/dsp/fourier"
)

// BandCount is the number of bands of the equaliser.
const BandCount = 32

// The range of the bands in Hz.
const (
	lowestBand  = 60.0
	highestBand = 10000.0
)

const (
	// order is one less than the length of the filter.
	order = 256
	// hop is the number of samples filtered by one transform.
	hop = 768
	// blockSize is the size of these transforms.
	blockSize = order + hop
	// designSize is the size of the transforms for the design of the filter. Its aliasing is far from audible.
	designSize = 2048
)

// Bands returns the frequencies of the equaliser's bands in Hz, equally spaced on the mel scale.
func Bands() [BandCount]float64 {
	var bands [BandCount]float64
	low, high := mel(lowestBand), mel(highestBand)
	for i := range bands {
		bands[i] = hertz(low + (high-low)*float64(i)/(BandCount-1))
	}
	return bands
}

func mel(hertz float64) float64 { return 2595 * math.Log10(1+hertz/700) }

func hertz(mel float64) float64 { return 700 * (math.Pow(10, mel/2595) - 1) }

// equaliser is a minimum-phase filter, which adds no delay. It is applied by overlap-save (Oppenheim and Schafer,
// Discrete-Time Signal Processing, 8.7.3), in blocks at fixed places.
type equaliser struct {
	fft      *fourier.FFT
	response []complex128
	spectrum []complex128
	input    []float64 // the end of the last block, and the current one
	filled   int       // samples of the current block
	output   []float64
	ready    []float64 // of the current call
}

func newEqualiser(rate int, boosts []float64) *equaliser {
	e := &equaliser{fft: fourier.NewFFT(blockSize), input: make([]float64, blockSize), output: make([]float64, blockSize)}
	padded := make([]float64, blockSize)
	copy(padded, minimumPhase(rate, boosts))
	e.response = e.fft.Coefficients(nil, padded)
	for i := range e.response {
		e.response[i] /= blockSize // the inverse transform is not normalised
	}
	e.spectrum = make([]complex128, len(e.response))
	return e
}

// add adds samples and returns those that are ready. They are valid until the next call.
func (e *equaliser) add(samples []float64) []float64 {
	e.ready = e.ready[:0]
	for len(samples) > 0 {
		n := copy(e.input[order+e.filled:], samples)
		samples = samples[n:]
		if e.filled += n; e.filled == hop {
			e.filter()
		}
	}
	return e.ready
}

// flush returns the remaining samples and resets the filter.
func (e *equaliser) flush() []float64 {
	e.ready = e.ready[:0]
	clear(e.input[order+e.filled:])
	e.filter()
	clear(e.input)
	return e.ready
}

// filter appends the samples of the block to those that are ready.
func (e *equaliser) filter() {
	e.fft.Coefficients(e.spectrum, e.input)
	for i, r := range e.response {
		e.spectrum[i] *= r
	}
	e.fft.Sequence(e.output, e.spectrum)
	e.ready = append(e.ready, e.output[order:order+e.filled]...)
	copy(e.input[:order], e.input[hop:])
	e.filled = 0
}

// minimumPhase returns the filter of minimum phase with the magnitude that the boosts describe, by folding the real
// cepstrum (Oppenheim and Schafer, 13.5.4).
func minimumPhase(rate int, boosts []float64) []float64 {
	fft := fourier.NewFFT(designSize)
	logs := make([]complex128, designSize/2+1)
	for i := range logs {
		logs[i] = complex(boostAt(float64(i)*float64(rate)/designSize, boosts)/20*math.Ln10, 0)
	}
	cepstrum := fft.Sequence(nil, logs)
	for i := range cepstrum {
		cepstrum[i] /= designSize
		switch {
		case i > designSize/2:
			cepstrum[i] = 0
		case i > 0 && i < designSize/2:
			cepstrum[i] *= 2
		}
	}
	spectrum := fft.Coefficients(nil, cepstrum)
	for i, s := range spectrum {
		spectrum[i] = cmplx.Exp(s) / designSize
	}
	return faded(fft.Sequence(nil, spectrum)[:order+1])
}

// boostAt interpolates between the bands.
func boostAt(frequency float64, boosts []float64) float64 {
	low, high := mel(lowestBand), mel(highestBand)
	place := (mel(frequency) - low) / (high - low) * (BandCount - 1)
	switch {
	case place <= 0:
		return boosts[0]
	case place >= BandCount-1:
		return boosts[BandCount-1]
	}
	below := int(place)
	return boosts[below] + (place-float64(below))*(boosts[below+1]-boosts[below])
}

// faded fades the second half of a filter out, so that its end has no edge.
func faded(filter []float64) []float64 {
	half := len(filter) / 2
	for i := half; i < len(filter); i++ {
		filter[i] *= 0.5 + 0.5*math.Cos(math.Pi*float64(i-half)/float64(len(filter)-half))
	}
	return filter
}
