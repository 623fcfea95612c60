// Package loudness measures the perceived loudness of speech: the integrated loudness of one channel by ITU-R
// BS.1770-4.
package loudness

import (
	"encoding/binary"
	"math"
)

// Target is the loudness of all voices in LUFS.
const Target = -20.0

// Gates, in LUFS and in LU below the loudness of the blocks above the first one.
const (
	absoluteGate = -70.0
	relativeGate = 10.0
)

// Blocks are 400 ms long, and begin one step apart.
const (
	stepMS        = 100
	stepsPerBlock = 4
)

// offset makes a sine of 997 Hz at full scale, in one channel, -3.01 LUFS.
const offset = -0.691

// Meter measures one stream of samples. It is not safe for concurrent use.
type Meter struct {
	shelf, pass biquad
	step        int       // samples
	filled      int       // samples of the current step
	sum         float64   // of its squares
	steps       []float64 // mean squares of complete steps
}

// NewMeter returns a Meter for samples at a rate in Hz.
func NewMeter(rate int) *Meter {
	return &Meter{shelf: headShelf(float64(rate)), pass: lowCut(float64(rate)), step: rate * stepMS / 1000}
}

// Add adds samples (signed 16-bit little-endian, one channel).
func (m *Meter) Add(pcm []byte) {
	for ; len(pcm) >= 2; pcm = pcm[2:] {
		sample := m.pass.filter(m.shelf.filter(float64(int16(binary.LittleEndian.Uint16(pcm))) / 32768))
		m.sum += sample * sample
		if m.filled++; m.filled == m.step {
			m.steps = append(m.steps, m.sum/float64(m.step))
			m.filled, m.sum = 0, 0
		}
	}
}

// Loudness returns the loudness of all samples so far in LUFS. It is -Inf if there are less than 400 ms, or only
// silence.
func (m *Meter) Loudness() float64 {
	blocks := m.blocks()
	gate := loudnessOf(meanAbove(blocks, absoluteGate)) - relativeGate
	return loudnessOf(meanAbove(blocks, max(gate, absoluteGate)))
}

// blocks returns the mean squares of the blocks.
func (m *Meter) blocks() []float64 {
	var blocks []float64
	for i := stepsPerBlock; i <= len(m.steps); i++ {
		sum := 0.0
		for _, square := range m.steps[i-stepsPerBlock : i] {
			sum += square
		}
		blocks = append(blocks, sum/stepsPerBlock)
	}
	return blocks
}

// meanAbove returns the mean of the blocks that are louder than a gate.
func meanAbove(blocks []float64, gate float64) float64 {
	sum, n := 0.0, 0
	for _, square := range blocks {
		if loudnessOf(square) > gate {
			sum += square
			n++
		}
	}
	return sum / float64(max(n, 1))
}

func loudnessOf(square float64) float64 { return offset + 10*math.Log10(square) }

// biquad is a filter of second order.
type biquad struct{ b0, b1, b2, a1, a2, z1, z2 float64 }

func (f *biquad) filter(x float64) float64 {
	y := f.b0*x + f.z1
	f.z1 = f.b1*x - f.a1*y + f.z2
	f.z2 = f.b2*x - f.a2*y
	return y
}

// headShelf and lowCut are the two stages of the K-weighting. The recommendation has coefficients for 48 kHz. Like
// libebur128, these functions transform the underlying analogue filters to any rate.
func headShelf(rate float64) biquad {
	const frequency, gain, q = 1681.974450955533, 3.999843853973347, 0.7071752369554196
	k := math.Tan(math.Pi * frequency / rate)
	high := math.Pow(10, gain/20)
	band := math.Pow(high, 0.4996667741545416)
	a0 := 1 + k/q + k*k
	return biquad{
		b0: (high + band*k/q + k*k) / a0, b1: 2 * (k*k - high) / a0, b2: (high - band*k/q + k*k) / a0,
		a1: 2 * (k*k - 1) / a0, a2: (1 - k/q + k*k) / a0,
	}
}

func lowCut(rate float64) biquad {
	const frequency, q = 38.13547087602444, 0.5003270373238773
	k := math.Tan(math.Pi * frequency / rate)
	a0 := 1 + k/q + k*k
	return biquad{b0: 1, b1: -2, b2: 1, a1: 2 * (k*k - 1) / a0, a2: (1 - k/q + k*k) / a0}
}
