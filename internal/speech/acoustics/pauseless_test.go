package acoustics_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/acoustics"
	"github.com/recital-tts/recital/internal/speech/acoustics/acousticstest"
)

const narrow = 8000 // Hz

// unbroken returns speech without any pause, only with the closures of plosives.
func unbroken(syllables int) (samples []float64) {
	var said [4][]float64
	for i := range said {
		one := say(narrow, 1, 110+float64(10*i), 0)
		said[i] = one[:len(one)-narrow/25]
	}
	for syllable := range syllables {
		samples = append(samples, said[syllable%len(said)]...)
	}
	return samples
}

// Without a pause for longer than a block, the noise has to be estimated from the moments between syllables. Half a
// second of added silence at the end changes nothing.
func TestTheNoiseOfSpeechWithoutPauses(t *testing.T) {
	for name, silence := range map[string]int{"as it is": 0, "with silence at its end": narrow / 2} {
		recording := append(with(unbroken(75), -50), make([]int16, silence)...)
		report, voice := acousticstest.Analyse(recording, acoustics.Config{Rate: narrow})
		require.InDelta(t, -50, report.Noise, 2.5, name)
		require.InDelta(t, 23.2, report.Speech, 1.5, name)
		require.InDelta(t, 120, voice.PitchQuantile(0.5), 10, name)
	}
}

func TestCleanSpeechWithoutPausesIsClean(t *testing.T) {
	silence := make([]int16, narrow/2)
	for name, recording := range map[string][]int16{
		"as it is":                with(unbroken(75), -120),
		"with silence at its end": append(with(unbroken(75), -120), silence...),
	} {
		report, _ := acousticstest.Analyse(recording, acoustics.Config{Rate: narrow})
		require.Greater(t, report.SNR, 30.0, name)
		require.Greater(t, report.Bandwidth, 3500.0, name)
		require.InDelta(t, 23.2, report.Speech, 1.5, name)
	}
}
