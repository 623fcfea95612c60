// Package stretch makes speech slower or faster without changing its pitch, for speeds that an engine cannot do and for
// exact lengths. It is WSOLA (Verhelst and Roelands, ICASSP 1993): windows of the input are laid out further apart or
// closer together, each taken from where it fits best to the one before.
package stretch

import "encoding/binary"

// The window and how far around its place a better fit is looked for.
const (
	windowMS = 25
	searchMS = 8
)

// Coarseness of the search: every lagStep-th place, comparing every sampleStep-th sample.
const (
	lagStep    = 2
	sampleStep = 4
)

// Stretcher stretches one stream of samples. It is not safe for concurrent use.
type Stretcher struct {
	factor float64
	window []float64 // a Hann window: halves that overlap add up to 1
	search int       // samples

	input    []float64 // from sample number `dropped` on
	dropped  int
	read     int       // samples taken in all
	wrote    int       // samples given in all
	overlap  []float64 // second half of the last window, not given yet
	previous int       // where the last window was taken
	hops     int
}

// New stretches samples at a rate in Hz by a factor: above 1 they become slower, below 1 faster.
func New(rate int, factor float64) *Stretcher {
	half := max(rate*windowMS/2000, 8)
	return &Stretcher{
		factor: factor, window: hann(2 * half), search: rate * searchMS / 1000, overlap: make([]float64, half),
	}
}

// Scale is where a sample of the input stands in the output.
func (s *Stretcher) Scale(sample int) int { return int(float64(sample) * s.factor) }

// Stretch takes samples (signed 16-bit little-endian) and gives those that are ready.
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

// isReady tells whether the input reaches for another hop, and the hop not beyond what the input comes to.
func (s *Stretcher) isReady() bool {
	return s.place()+s.search+2*s.half() <= s.read && s.previous+3*s.half() <= s.read && s.wrote+s.half() <= s.Scale(s.read)
}

// Finish gives the last samples. All samples given are as many as were taken, times the factor, rounded down.
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

// place is where the next window would be taken, were it not for the fit.
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

// bestFit is the place near at where the input is most like the natural continuation of the last window.
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

// drop forgets the input before a sample.
func (s *Stretcher) drop(before int) {
	if n := before - s.dropped; n > len(s.input)/2 {
		s.input = append(s.input[:0], s.input[n:]...)
		s.dropped = before
	}
}
