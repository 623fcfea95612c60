package acoustics

import (
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
)

// Pitch by the method of Boersma (1993): the autocorrelation of a frame divided by its window's, and a path through the
// candidates of all frames.
const (
	pitchWidth   = 0.064 // seconds
	lowestPitch  = 60.0  // Hz
	highestPitch = 500.0
	pitchBand    = 1500.0 // Hz; higher frequencies have more noise than pitch
	voiceBand    = 5000.0 // Hz, below which the periodic power is measured
	lags         = 512    // of the autocorrelation, half of which are used
	candidates   = 4

	unvoiced    = 0.45 // strength of no pitch
	octaveCost  = 0.01
	octaveJump  = 0.35
	changeVoice = 0.14
)

type pitchTracker struct {
	fft      *fourier.FFT
	back     *fourier.FFT
	shape    []float64
	frame    []float64
	whole    []complex128
	powers   []float64 // of the bins below voiceBand, one frame after the other
	cut      []complex128
	repeated []float64
	window   []float64 // its autocorrelation
	each     float64   // Hz of a bin
	lag      float64   // seconds
}

type candidate struct {
	pitch    float64 // Hz; 0 is unvoiced
	strength float64
}

func newPitchTracker(rate int) *pitchTracker {
	size := int(pitchWidth * float64(rate))
	length := PowerOfTwo(size)
	p := &pitchTracker{
		fft: fourier.NewFFT(length), back: fourier.NewFFT(lags), shape: hann(size),
		frame: make([]float64, length),
		whole: make([]complex128, length/2+1), cut: make([]complex128, lags/2+1), repeated: make([]float64, lags),
		each: float64(rate) / float64(length),
	}
	p.lag = 1 / (lags * p.each)
	copy(p.frame, p.shape)
	p.window = append(p.window, p.correlate(p.spectrum(), 0)...)
	return p
}

// correlate returns the normalised autocorrelation of a spectrum above a frequency.
func (p *pitchTracker) correlate(powers []float64, lowest float64) []float64 {
	clear(p.cut)
	for bin, power := range powers[:min(len(powers), len(p.cut))] {
		hertz := float64(bin) * p.each
		if hertz > pitchBand {
			break
		}
		if hertz >= lowest {
			p.cut[bin] = complex(power, 0)
		}
	}
	p.back.Sequence(p.repeated, p.cut)
	if first := p.repeated[0]; first > 0 {
		for i := range p.repeated {
			p.repeated[i] /= first
		}
	}
	return p.repeated
}

// track sets the pitch of the frames of speech.
func (p *pitchTracker) track(b *block) {
	choices, powers := make([][]candidate, len(b.frames)), make([][]float64, len(b.frames))
	p.powers = p.powers[:0]
	for i := range b.frames {
		choices[i] = []candidate{{0, unvoiced}}
		if b.frames[i].speech {
			powers[i] = p.transform(b.samples, b.frames[i].centre)
			choices[i] = p.candidates(powers[i])
		}
	}
	for i, chosen := range bestPath(choices) {
		f := &b.frames[i]
		if f.pitch = chosen.pitch; f.pitch > 0 {
			f.harmonic = p.harmonic(powers[i], f.pitch)
		}
	}
}

func (p *pitchTracker) transform(samples []float64, centre int) []float64 {
	from := centre - len(p.shape)/2
	for i, w := range p.shape {
		p.frame[i] = w * samples[from+i]
	}
	clear(p.frame[len(p.shape):])
	return p.spectrum()
}

// spectrum returns the powers of the frame. They are valid until the next block.
func (p *pitchTracker) spectrum() []float64 {
	from := len(p.powers)
	for _, c := range p.fft.Coefficients(p.whole, p.frame)[:min(int(voiceBand/p.each)+1, len(p.whole))] {
		p.powers = append(p.powers, real(c)*real(c)+imag(c)*imag(c))
	}
	return p.powers[from:]
}

func (p *pitchTracker) candidates(powers []float64) []candidate {
	r := p.correlate(powers, lowestPitch*0.7)
	at := func(lag int) float64 { return r[lag] / max(p.window[lag], 0.1) }
	found := []candidate{{0, unvoiced}}
	for lag := max(int(1/(highestPitch*p.lag)), 1); float64(lag) < 1/(lowestPitch*p.lag) && lag+1 < lags/2; lag++ {
		before, here, after := at(lag-1), at(lag), at(lag+1)
		if here < 0.3 || here < before || here <= after {
			continue
		}
		shift := 0.5 * (before - after) / (before - 2*here + after)
		c := candidate{1 / ((float64(lag) + shift) * p.lag), min(here-0.25*(before-after)*shift, 1)}
		c.strength += octaveCost * math.Log2(c.pitch/lowestPitch)
		found = insert(found, c)
	}
	return found
}

// insert keeps the strongest candidates besides the first.
func insert(found []candidate, c candidate) []candidate {
	if len(found) <= candidates {
		return append(found, c)
	}
	weakest := 1
	for i := range found[1:] {
		if found[1+i].strength < found[weakest].strength {
			weakest = 1 + i
		}
	}
	if found[weakest].strength < c.strength {
		found[weakest] = c
	}
	return found
}

// bestPath returns the candidates of the strongest path (Viterbi, 1967).
func bestPath(choices [][]candidate) []candidate {
	from := make([][]int, len(choices))
	var before []float64
	for i, now := range choices {
		scores := make([]float64, len(now))
		from[i] = make([]int, len(now))
		for k, c := range now {
			best := 0.0
			for j, score := range before {
				score -= transition(choices[i-1][j].pitch, c.pitch)
				if j == 0 || score > best {
					best, from[i][k] = score, j
				}
			}
			scores[k] = best + c.strength
		}
		before = scores
	}
	path, k := make([]candidate, len(choices)), 0
	for j, score := range before {
		if score > before[k] {
			k = j
		}
	}
	for i := len(choices) - 1; i >= 0; i-- {
		path[i] = choices[i][k]
		k = from[i][k]
	}
	return path
}

func transition(before, after float64) float64 {
	switch {
	case before == 0 && after == 0:
		return 0
	case before == 0 || after == 0:
		return changeVoice
	}
	return octaveJump * math.Abs(math.Log2(before/after))
}

// harmonic returns the share of the power below voiceBand that is periodic with a pitch.
func (p *pitchTracker) harmonic(powers []float64, pitch float64) float64 {
	repeats, all := 0.0, 0.0
	for bin, power := range powers {
		hertz := float64(bin) * p.each
		if hertz < lowestPitch*0.7 {
			continue
		}
		repeats += power * math.Cos(2*math.Pi*hertz/pitch)
		all += power
	}
	lag := min(int(math.Round(1/(pitch*p.lag))), lags/2)
	return min(max(ratio(repeats, all)/max(p.window[lag], 0.1), 0.001), 0.999)
}

// harmonicity converts the share of the periodic power into dB.
func harmonicity(share float64) float64 { return 10 * math.Log10(share/(1-share)) }
