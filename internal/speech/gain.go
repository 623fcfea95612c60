package speech

import (
	"encoding/binary"
	"slices"
)

// The gains with which the engines' speech has the loudness loudness.Target are in gains.go. They were measured, as
// make loudness-report says: an engine is quieter in some languages than in others, and not with every voice alike.

// gainOf returns that of a voice from a row of gains, in the order of Voices.
func gainOf(gains [voiceCount]float64, voice Voice) float64 {
	i := slices.IndexFunc(Voices(), func(v Voice) bool { return v.ID == voice.ID })
	return gains[max(i, 0)]
}

// languageGain returns how much quieter the first engine is in a language than in American English, as a mean of all
// voices: an own voice has the loudness of the others in American English.
func languageGain(language string) float64 {
	difference, english := 0.0, firstEngineGains("en-us")
	for i, gain := range firstEngineGains(language) {
		difference += gain - english[i]
	}
	return difference / voiceCount
}

// inaudible is the largest sample that counts as silence: -66 dB.
const inaudible = 16

// isAudible reports whether there is anything to hear in samples.
func isAudible(pcm []byte) bool {
	for ; len(pcm) >= 2; pcm = pcm[2:] {
		if sample := int16(binary.LittleEndian.Uint16(pcm)); sample > inaudible || sample < -inaudible {
			return true
		}
	}
	return false
}
