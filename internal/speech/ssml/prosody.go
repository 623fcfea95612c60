package ssml

import (
	"math"
	"strings"
)

// Limits of styles, also of those within each other.
const (
	minRate, maxRate = 0.25, 2.0
	maxPitch         = 12.0
	maxVolume        = 12.0
)

func changeProsody(p *parser, e *element, a map[string]string) error {
	s := &e.run.Style
	if written, has := a["rate"]; has {
		factor, ok := parseRate(written)
		if s.Rate *= factor; !ok || !(s.Rate >= minRate && s.Rate <= maxRate) {
			return p.fail("the rate of <prosody> is a word or a percentage, and 25 to 200 % with what is around it")
		}
	}
	if written, has := a["pitch"]; has {
		steps, ok := parsePitch(written)
		if s.Pitch += steps; !ok || !(math.Abs(s.Pitch) <= maxPitch) {
			return p.fail("the pitch of <prosody> is a word, semitones such as +2st or a percentage such as +10%, and within " +
				"12 semitones with what is around it")
		}
	}
	if written, has := a["volume"]; has {
		decibels, ok := parseVolume(written)
		if s.Volume += decibels; !ok || !(math.Abs(s.Volume) <= maxVolume) {
			return p.fail("the volume of <prosody> is a word or decibels such as +6dB, and within 12 dB with what is around it")
		}
	}
	return nil
}

// parseRate returns a factor.
func parseRate(written string) (float64, bool) {
	if factor, ok := map[string]float64{
		"x-slow": 0.5, "slow": 0.75, "medium": 1, "default": 1, "fast": 1.25, "x-fast": 1.5,
	}[written]; ok {
		return factor, true
	}
	return parsePercent(written)
}

// parsePercent returns a factor: "80%" is 0.8, and so is "-20%".
func parsePercent(written string) (float64, bool) {
	n, ok := parseQuantity(written, "%")
	if strings.ContainsAny(written, "+-") {
		n += 100
	}
	return n / 100, ok && n > 0
}

// parsePitch returns semitones.
func parsePitch(written string) (float64, bool) {
	if steps, ok := map[string]float64{
		"x-low": -6, "low": -3, "medium": 0, "default": 0, "high": 3, "x-high": 6,
	}[written]; ok {
		return steps, true
	}
	if steps, ok := parseQuantity(written, "st"); ok {
		return steps, true
	}
	factor, ok := parsePercent(written)
	return 12 * math.Log2(max(factor, 1e-3)), ok
}

// parseVolume returns decibels.
func parseVolume(written string) (float64, bool) {
	if decibels, ok := map[string]float64{
		"x-soft": -9, "soft": -4.5, "medium": 0, "default": 0, "loud": 4.5, "x-loud": 9,
	}[written]; ok {
		return decibels, true
	}
	return parseQuantity(written, "dB")
}
