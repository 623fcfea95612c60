package neural_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/enginetest"
	"github.com/recital-tts/recital/internal/speech/neural/neuraltest"
	"github.com/recital-tts/recital/internal/speech/worker"
)

// hissing has words that begin with s or sh after a sound without hiss, and words after pauses.
const hissing = "We saw a ship. Anna may sing near the sea. You see a shop, and I show you a seal. Go home soon, and " +
	"bring me a sheet. Today my son will sail. Tell me, do you know a safe way? In the end they sold a shoe."

// frame is the length of a frame of energy in seconds.
const frame = 0.005

func TestARealVoiceKeepsItsTimes(t *testing.T) {
	for name, variable := range families() {
		t.Run(name, func(t *testing.T) {
			pool := open(t, neuraltest.Weights(t, variable), 1)
			said := speak(t, pool, 1)
			require.Equal(t, said.PCM, speak(t, pool, 1).PCM, "the same seed, other bytes")
			for _, speed := range []float64{0.5, 0.8, 1.25, 2} {
				require.InEpsilon(t, said.Seconds(pool)/speed, speak(t, pool, speed).Seconds(pool), 0.01, "speed %v", speed)
			}
			var off []float64
			text := []rune(hissing)
			full, hiss := energies(said.PCM, pool.SampleRate())
			for i, m := range said.Marks {
				start := float64(m.Sample) / float64(pool.SampleRate())
				switch {
				case m.Silence || m.Phoneme != "":
				case text[m.Rune] == 's':
					off = append(off, rises(hiss, start)-start)
				case i > 0 && said.Marks[i-1].Silence:
					off = append(off, rises(full, start)-start)
				}
			}
			near := 0
			for _, seconds := range off {
				if math.Abs(seconds) <= 0.05 {
					near++
				}
			}
			require.GreaterOrEqual(t, len(off), 15)
			require.GreaterOrEqual(t, float64(near), 0.95*float64(len(off)), "seconds from the word times: %.3f", off)
		})
	}
}

func speak(t *testing.T, pool *worker.Pool, speed float64) enginetest.Speech {
	t.Helper()
	said, err := enginetest.Speak(t.Context(), pool, speech.Job{Text: hissing, Voice: toy, Language: "en-us", Speed: speed})
	require.NoError(t, err)
	return said
}

// energies returns the energy of each frame, and that above some kHz: what differs from sample to sample.
func energies(pcm []byte, rate int) (full, hiss []float64) {
	size := int(frame * float64(rate))
	samples := audio.AppendSamples(nil, pcm)
	sample := func(i int) float64 { return float64(samples[i]) }
	for at := 2; at+size <= len(samples); at += size {
		var all, high float64
		for i := at; i < at+size; i++ {
			fast := sample(i) - 2*sample(i-1) + sample(i-2)
			all, high = all+sample(i)*sample(i), high+fast*fast
		}
		full, hiss = append(full, all), append(hiss, high)
	}
	return full, hiss
}

// rises returns when an energy first is a tenth of its highest near a time, in seconds.
func rises(energy []float64, near float64) float64 {
	from, to := max(0, int((near-0.12)/frame)), min(len(energy), int((near+0.12)/frame))
	highest := 0.0
	for _, e := range energy[from:to] {
		highest = max(highest, e)
	}
	for i := from; i < to; i++ {
		if energy[i] >= highest/10 {
			return float64(i) * frame
		}
	}
	return math.Inf(1)
}
