package mastering

import (
	"encoding/binary"
	"math"
)

const (
	// ceiling is the highest sample: 1.5 dB below full scale, because converting the rate and decoding a lossy format can
	// increase samples somewhat.
	ceiling = 27571
	// blockMS is the time in which the gain falls before a peak.
	blockMS = 5
	// releaseMS is the time constant with which the gain recovers.
	releaseMS = 80
)

// limiter reduces the gain around peaks. The gain changes linearly within blocks, and between two blocks it is at most
// the lower of their limits. It is thus never too high, and falls during the block before a peak.
type limiter struct {
	block   int
	held    []float64 // samples from the start of the current block
	started bool      // permits and gain belong to the current block
	permits float64   // the highest gain that the current block permits
	gain    float64   // at the start of the current block
}

func newLimiter(rate int) limiter { return limiter{block: max(rate*blockMS/1000, 1)} }

// add adds samples and returns those that are ready. A block is ready once the next one is known.
func (l *limiter) add(samples []float64) []byte {
	l.held = append(l.held, samples...)
	if len(l.held) < 2*l.block {
		return nil
	}
	out := make([]byte, 0, 2*len(l.held))
	rest := l.held
	for ; len(rest) >= 2*l.block; rest = rest[l.block:] {
		out = l.emit(out, rest[:l.block], permitted(rest[l.block:2*l.block]))
	}
	l.held = l.held[:copy(l.held, rest)]
	return out
}

// flush adds the last samples, returns all remaining ones, and resets the limiter.
func (l *limiter) flush(samples []float64) []byte {
	out := l.add(samples)
	for rest := l.held; len(rest) > 0; {
		n := min(l.block, len(rest))
		out = l.emit(out, rest[:n], permitted(rest[n:]))
		rest = rest[n:]
	}
	l.held, l.started = l.held[:0], false
	return out
}

// emit appends a block. next is the gain that the block after it permits.
func (l *limiter) emit(out []byte, block []float64, next float64) []byte {
	if !l.started {
		l.permits = permitted(block)
		l.gain, l.started = l.permits, true
	}
	end := min(l.permits, next, l.released())
	out = appendScaled(out, block, l.gain, (end-l.gain)/float64(l.block))
	l.permits, l.gain = next, end
	return out
}

// released returns the gain at the end of the block if only earlier peaks reduce it.
func (l *limiter) released() float64 {
	gain := 1 - (1-l.gain)*math.Exp(-blockMS/float64(releaseMS))
	if gain > 0.9999 {
		return 1
	}
	return gain
}

// permitted returns the highest gain, at most 1, that keeps all samples below the ceiling.
func permitted(samples []float64) float64 {
	peak := float64(ceiling)
	for _, sample := range samples {
		if sample > peak {
			peak = sample
		} else if -sample > peak {
			peak = -sample
		}
	}
	return ceiling / peak
}

func appendScaled(out []byte, samples []float64, gain, step float64) []byte {
	if gain == 1 && step == 0 {
		for _, sample := range samples {
			out = binary.LittleEndian.AppendUint16(out, uint16(int16(math.RoundToEven(sample))))
		}
		return out
	}
	for i, sample := range samples {
		out = binary.LittleEndian.AppendUint16(out, uint16(int16(math.RoundToEven(sample*(gain+step*float64(i))))))
	}
	return out
}
