// Package mastering processes an engine's samples: an equaliser, a gain, and a look-ahead limiter, so that no sample is
// clipped.
package mastering

import (
	"encoding/binary"
	"math"
	"slices"
)

// Limits of Settings, in decibels.
const (
	MaxGain  = 40.0
	MaxBoost = 30.0
)

// Settings are the parameters of mastering. The zero value only limits.
type Settings struct {
	Gain float64 `json:"gain,omitempty"` // decibels; -MaxGain to MaxGain
	// Decibels at Bands, -MaxBoost to MaxBoost; none means a flat response.
	Equaliser []float64 `json:"equaliser,omitempty"`
}

// Valid reports whether the settings are within the limits.
func (s Settings) Valid() bool {
	return within(s.Gain, MaxGain) && (len(s.Equaliser) == 0 || len(s.Equaliser) == BandCount) &&
		!slices.ContainsFunc(s.Equaliser, func(boost float64) bool { return !within(boost, MaxBoost) })
}

// within reports whether a magnitude is at most a limit. It is false for NaN.
func within(value, most float64) bool { return value >= -most && value <= most }

// Chain masters one stream of speech, utterance by utterance. The output has the same samples in the same places,
// however the input is cut. It is not safe for concurrent use.
type Chain struct {
	gain      float64    // a factor
	equaliser *equaliser // nil if the response is flat
	limiter   limiter
	samples   []float64 // of the current call
}

// New returns a Chain for samples at a rate in Hz. The settings have been checked.
func New(rate int, settings Settings) *Chain {
	c := &Chain{gain: math.Pow(10, settings.Gain/20), limiter: newLimiter(rate)}
	if len(settings.Equaliser) > 0 {
		c.equaliser = newEqualiser(rate, settings.Equaliser)
	}
	return c
}

// Process adds samples of the utterance (signed 16-bit little-endian, one channel) and returns those that are ready.
func (c *Chain) Process(pcm []byte) []byte {
	c.samples = c.samples[:0]
	for ; len(pcm) >= 2; pcm = pcm[2:] {
		c.samples = append(c.samples, c.gain*float64(int16(binary.LittleEndian.Uint16(pcm))))
	}
	return c.limiter.add(c.equalise(c.samples))
}

// Flush returns the rest of the utterance and resets the chain.
func (c *Chain) Flush() []byte {
	if c.equaliser == nil {
		return c.limiter.flush(nil)
	}
	return c.limiter.flush(c.equaliser.flush())
}

func (c *Chain) equalise(samples []float64) []float64 {
	if c.equaliser == nil {
		return samples
	}
	return c.equaliser.add(samples)
}
