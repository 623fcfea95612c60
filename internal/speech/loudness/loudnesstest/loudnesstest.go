// Package loudnesstest measures whole sounds.
package loudnesstest

import (
	"encoding/binary"

	"github.com/recital-tts/recital/internal/speech/loudness"
)

// Of returns the loudness of samples at a rate in Hz.
func Of(pcm []byte, rate int) float64 {
	m := loudness.NewMeter(rate)
	m.Add(pcm)
	return m.Loudness()
}

// Peak returns the highest magnitude of samples, up to 32768.
func Peak(pcm []byte) int {
	highest := 0
	for ; len(pcm) >= 2; pcm = pcm[2:] {
		sample := int(int16(binary.LittleEndian.Uint16(pcm)))
		highest = max(highest, sample, -sample)
	}
	return highest
}
