// Package stretch changes the speed of speech without changing its pitch, for speeds that an engine does not support
// and for exact lengths. It implements WSOLA (Verhelst and Roelands, ICASSP 1993): windows of the input are placed
// further apart or closer together, each at the position of its best match with the previous one.
package stretch

import (
	"encoding/binary"
	"math"
)

// The window, and the distance around its position within which a better fit is searched.
const (
	windowMS = 25
	searchMS = 8
)

// Granularity of the search: every lagStep-th position, comparing every sampleStep-th sample.
const (
	lagStep    = 2
	sampleStep = 4
)

// Stretcher stretches one stream of samples. It is not safe for concurrent use.
type Stretcher struct {
	factor float64
	window []float64 // a Hann window: halves that overlap add up to 1
	search int       // samples

	input    []float64 // starting with sample number `dropped`
	dropped  int
	read     int       // samples read so far
	wrote    int       // samples written so far
	overlap  []float64 // second half of the last window, not written yet
	previous int       // position of the last window
	hops     int
}

// New returns a Stretcher of samples at a rate in Hz by a factor: above 1 speech becomes slower, below 1 faster.
func New(rate int, factor float64) *Stretcher {
	half := max(rate*windowMS/2000, 8)
	return &Stretcher{
		factor: factor, window: hann(2 * half), search: rate * searchMS / 1000, overlap: make([]float64, half),
	}
}

// Scale converts a position in the input into a position in the output.
func (s *Stretcher) Scale(sample int) int { return int(float64(sample) * s.factor) }

// Stretch adds samples (signed 16-bit little-endian) and returns those that are ready.
func (s *Stretcher) Stretch(pcm []byte) []byte {
	for ; len(pcm) >= 2; pcm = pcm[2:] {
		s.input = append(s.input, float64(int16(binary.LittleEndian.Uint16(pcm))))
		s.read++
	}
	var out []byte
	for s.isReady() {
		out = s.hop(out)
	}
	return out
}

// isReady reports whether the input suffices for another hop, without more output than the factor permits.
func (s *Stretcher) isReady() bool {
	return s.place()+s.search+2*s.half() <= s.read && s.previous+3*s.half() <= s.read &&
		s.wrote+s.half() <= s.Scale(s.read)
}

// Finish returns the last samples. The total number of samples is the number of samples read times the factor, rounded
// down.
func (s *Stretcher) Finish() []byte {
	total := s.Scale(s.read)
	s.input = append(s.input, make([]float64, s.search+3*s.half())...)
	var out []byte
	for s.wrote < total {
		out = s.hop(out)
	}
	return out[:len(out)-2*(s.wrote-total)]
}

func (s *Stretcher) half() int { return len(s.overlap) }

// place returns the nominal position of the next window, before the search for a fit.
func (s *Stretcher) place() int { return int(float64(s.hops*s.half()) / s.factor) }

// hop adds half a window to the output.
func (s *Stretcher) hop(out []byte) []byte {
	at := s.place()
	if s.hops > 0 {
		at = s.bestFit(at, s.previous+s.half())
	}
	from := at - s.dropped
	for i := range s.half() {
		sample := s.overlap[i] + s.input[from+i]*s.window[i]
		if s.hops == 0 { // nothing to fade from
			sample = s.input[from+i]
		}
		out = binary.LittleEndian.AppendUint16(out, uint16(int16(min(max(sample, -32768), 32767))))
		s.overlap[i] = s.input[from+s.half()+i] * s.window[s.half()+i]
	}
	s.previous = at
	s.hops++
	s.wrote += s.half()
	s.drop(min(s.place()-s.search, s.previous+s.half()))
	return out
}

// bestFit returns the position near at where the input is most similar to the natural continuation of the last
// window.
func (s *Stretcher) bestFit(at, continuation int) int {
	natural := s.input[continuation-s.dropped:]
	best, bestLikeness := at, -1e300
	for place := max(at-s.search, s.dropped); place <= at+s.search; place += lagStep {
		candidate := s.input[place-s.dropped:]
		likeness, energy := 0.0, 1.0
		for i := 0; i < s.half(); i += sampleStep {
			likeness += candidate[i] * natural[i]
			energy += candidate[i] * candidate[i]
		}
		if likeness > 0 {
			likeness *= likeness / energy
		}
		if likeness > bestLikeness {
			best, bestLikeness = place, likeness
		}
	}
	return best
}

// drop drops the input before a sample.
func (s *Stretcher) drop(before int) {
	if n := before - s.dropped; n > len(s.input)/2 {
		s.input = append(s.input[:0], s.input[n:]...)
		s.dropped = before
	}
}

func hann(size int) []float64 {
	window := make([]float64, size)
	for i := range window {
		window[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/float64(size))
	}
	return window
}
