package enginetest

import (
	"math"

	"github.com/recital-tts/recital/internal/speech/acoustics"
	"github.com/recital-tts/recital/internal/speech/audio"
)

// loudness returns the root mean square.
func loudness(pcm []byte) float64 {
	sum := 0.0
	for _, sample := range audio.AppendSamples(nil, pcm) {
		sum += float64(sample) * float64(sample)
	}
	return math.Sqrt(sum / float64(len(pcm)/2))
}

// pitch returns a quantile of the fundamental frequency in semitones above 1 Hz.
func pitch(pcm []byte, rate int, part float64) float64 {
	analyser := acoustics.New(acoustics.Config{Rate: rate})
	_, _ = analyser.Write(pcm) // never fails
	_, statistics := analyser.Finish()
	return 12 * math.Log2(statistics.PitchQuantile(part))
}

// MedianPitch returns the median of the fundamental frequency in semitones above 1 Hz.
func MedianPitch(pcm []byte, rate int) float64 { return pitch(pcm, rate, 0.5) }
