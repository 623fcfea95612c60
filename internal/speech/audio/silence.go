package audio

import (
	"encoding/binary"
	"time"
)

// inaudible is the largest sample that counts as silence: -66 dB.
const inaudible = 16

// TrailingSilence returns the number of samples of silence at the end of signed 16-bit little-endian samples.
func TrailingSilence(pcm []byte) int {
	n := len(pcm) / 2
	for i := n; i > 0; i-- {
		if sample := int16(binary.LittleEndian.Uint16(pcm[2*i-2:])); sample > inaudible || sample < -inaudible {
			return n - i
		}
	}
	return n
}

// AppendSamples appends the samples of signed 16-bit little-endian PCM.
func AppendSamples(samples []int16, pcm []byte) []int16 {
	for ; len(pcm) >= 2; pcm = pcm[2:] {
		samples = append(samples, int16(binary.LittleEndian.Uint16(pcm)))
	}
	return samples
}

// Lag returns how much silence pushes the last sound out of a format's encoder. A codec holds its look-ahead and an
// incomplete frame, at most 3,000 samples of its rate; a resampler alone holds a few milliseconds.
func (s Spec) Lag() time.Duration {
	switch s.Format {
	case MP3, AAC, WebM:
		return 3400 * time.Second / time.Duration(s.SampleRate)
	default:
		return 20 * time.Millisecond
	}
}

// BytesPerSample returns the size of a sample in the formats without compression. For the others it returns that of
// the samples from which they were encoded.
func (s Spec) BytesPerSample() int {
	switch s.Format {
	case PCMF32LE:
		return 4
	case ULaw:
		return 1
	default:
		return 2
	}
}
