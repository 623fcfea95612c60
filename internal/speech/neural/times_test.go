package neural_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/dsp/window"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/enginetest"
	"github.com/recital-tts/recital/internal/speech/neural/neuraltest"
	"github.com/recital-tts/recital/internal/speech/worker"
	"github.com/recital-tts/recital/internal/testing/proptest"
)

// pausing has words after pauses, and words that begin with s and sh after other sounds.
const pausing = "We saw a ship. Anna may sing near the sea. You see a shop, and I show you a seal. Go home soon, and " +
	"bring me a sheet. Today my son will sail. Tell me, do you know a safe way? In the end they sold a shoe. " +
	"Paul sang a song about a shadow. The sailor saw a shark under the surface."

// frame is the length of a frame of energy in seconds, of frameSamples at the rate of all voices.
const (
	frameSamples = 110
	frame        = frameSamples / 22050.0
)

// A sentence at twice the speed is half as long, and so are many sentences, because pauses compensate for rounding to
// frames.
func TestSpeedsAreExact(t *testing.T) {
	neuraltest.Runtime(t)
	for name, folder := range map[string]string{
		"VITS": neuraltest.Folder(t), "StyleTTS 2": neuraltest.KokoroFolder(t, toy.ID),
	} {
		t.Run(name, func(t *testing.T) {
			engine := patient(t, folder)
			proptest.Shortened(t, 4, func(t *rapid.T) {
				words := rapid.SampledFrom([]string{"we", "saw", "a ship.", "Anna", "sings,", "near", "the sea!", "Yes."})
				text := "Today " + strings.Join(rapid.SliceOfN(words, 1, 25).Draw(t, "words"), " ") + "."
				job := speech.Job{Text: text, Voice: toy, Language: "en-us", Speed: 1}
				usual, err := enginetest.Speak(context.Background(), engine, job)
				require.NoError(t, err)
				job.Speed = rapid.Float64Range(speech.MinSpeed, speech.MaxSpeed).Draw(t, "speed")
				said, err := enginetest.Speak(context.Background(), engine, job)
				require.NoError(t, err)
				require.InEpsilon(t, usual.Seconds(engine)/job.Speed, said.Seconds(engine), 0.01)
			})
		})
	}
}

func TestARealVoiceKeepsItsTimes(t *testing.T) {
	for name, variable := range families() {
		t.Run(name, func(t *testing.T) {
			engine := patient(t, neuraltest.Weights(t, variable))
			said := speak(t, engine, 1)
			require.Equal(t, said.PCM, speak(t, engine, 1).PCM, "the same seed, other bytes")
			for _, speed := range []float64{0.5, 1.25, 2} {
				assert.InEpsilon(t, said.Seconds(engine)/speed, speak(t, engine, speed).Seconds(engine), 0.01, "speed %v", speed)
			}
			var pauses, hisses []float64
			all, high := energies(said.PCM, 0), energies(said.PCM, 4000)
			silent := false
			for _, m := range said.Marks {
				start := float64(m.Sample) / float64(engine.SampleRate())
				if silent && !m.Silence {
					pauses = append(pauses, rises(all, start, 0.01)-start)
				}
				if silent = m.Silence; !silent && strings.HasPrefix(pausing[m.Rune:], "s") {
					hisses = append(hisses, rises(high, start, 0.1)-start)
				}
			}
			for what, off := range map[string][]float64{"after pauses": pauses, "of s and sh": hisses} {
				near := slices.DeleteFunc(slices.Clone(off), func(s float64) bool { return math.Abs(s) > 0.05 })
				require.GreaterOrEqual(t, len(off), 8)
				assert.GreaterOrEqual(t, float64(len(near)), 0.95*float64(len(off)), "%s, from the word times: %.3f", what, off)
			}
		})
	}
}

// patient returns an engine with the voice of a folder and long timeouts, for busy machines.
func patient(t *testing.T, folder string) speech.Engine {
	t.Helper()
	pool, err := worker.Open(worker.Config{
		Size: 1, HelloTimeout: time.Minute, JobTimeout: 10 * time.Minute, Command: command(t, folder),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	return speech.WithFrontEnd(pool, nil)
}

func speak(t *testing.T, engine speech.Engine, speed float64) enginetest.Speech {
	t.Helper()
	job := speech.Job{Text: pausing, Voice: toy, Language: "en-us", Speed: speed}
	said, err := enginetest.Speak(t.Context(), engine, job)
	require.NoError(t, err)
	return said
}

// energies returns the energy of each frame above a frequency.
func energies(pcm []byte, above float64) (energies []float64) {
	samples := audio.AppendSamples(make([]int16, frameSamples/2), pcm)
	const wide = 2 * frameSamples
	fft := fourier.NewFFT(wide)
	for ; len(samples) >= wide; samples = samples[frameSamples:] {
		piece := make([]float64, wide)
		for i := range piece {
			piece[i] = float64(samples[i])
		}
		energy := 0.0
		for i, c := range fft.Coefficients(nil, window.Hann(piece)) {
			if fft.Freq(i)*22050 >= above {
				energy += real(c)*real(c) + imag(c)*imag(c)
			}
		}
		energies = append(energies, energy)
	}
	return energies
}

// rises returns the time in seconds, near the given one, at which the energy first reaches a part of its maximum.
func rises(energy []float64, near, part float64) float64 {
	from, to := max(0, int((near-0.12)/frame)), min(len(energy), int((near+0.12)/frame))
	highest := 0.0
	for _, e := range energy[from:to] {
		highest = max(highest, e)
	}
	for i := from; i < to; i++ {
		if energy[i] >= part*highest {
			return float64(i) * frame
		}
	}
	return math.Inf(1)
}
