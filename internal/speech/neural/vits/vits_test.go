package vits_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/recital-tts/recital/internal/speech/neural/family"
	"github.com/recital-tts/recital/internal/speech/neural/neuraltest"
	"github.com/recital-tts/recital/internal/speech/neural/onnx"
	"github.com/recital-tts/recital/internal/speech/neural/ort"
	"github.com/recital-tts/recital/internal/speech/neural/vits"
)

// model returns the toy, or the voice in the folder RECITAL_TEST_VOICE.
func model(t *testing.T) []byte {
	t.Helper()
	require.NoError(t, ort.Open(neuraltest.Runtime(t)))
	folder := os.Getenv("RECITAL_TEST_VOICE")
	if folder == "" {
		return neuraltest.Toy()
	}
	file, err := os.ReadFile(filepath.Join(folder, "voice.onnx"))
	require.NoError(t, err)
	return file
}

func split(file []byte) (vits.Parts, error) {
	g, err := onnx.Parse(file)
	if err != nil {
		return vits.Parts{}, err
	}
	return vits.Split(g)
}

func load(t *testing.T, file []byte) *vits.Voice {
	t.Helper()
	parts, err := split(file)
	require.NoError(t, err)
	v, err := vits.Load(parts)
	require.NoError(t, err)
	return v
}

// speak returns the samples of ids, each with the model's own duration.
func speak(t *testing.T, v *vits.Voice, ids []int64, noise family.Noise) (samples []float32, frames int) {
	t.Helper()
	e, err := v.Encode(t.Context(), ids, noise)
	require.NoError(t, err)
	counts := family.Round(e.Durations)
	for _, n := range counts {
		frames += n
	}
	samples, err = e.Samples(counts)
	require.NoError(t, err)
	return samples, frames
}

func someIDs(count int) (ids []int64) {
	random := rand.New(rand.NewPCG(1, uint64(count)))
	for range count {
		ids = append(ids, random.Int64N(16))
	}
	return ids
}

func TestThePartsAreTheWhole(t *testing.T) {
	file := model(t)
	parts, err := split(file)
	require.NoError(t, err)
	require.True(t, parts.Wide)
	v := load(t, file)
	for _, count := range []int{1, 2, 17, 90, 300} { // in one chunk and in several
		compared, err := family.Compare(v, parts.Whole, [][]int64{someIDs(count), someIDs(20)})
		require.NoError(t, err)
		require.Less(t, compared.Decibels, -80.0, "%d", count)
		require.True(t, compared.Ratio > 0 && compared.Time > 0)
	}
	other, err := split(neuraltest.OtherToy())
	require.NoError(t, err)
	compared, err := family.Compare(load(t, neuraltest.Toy()), other.Whole, [][]int64{someIDs(90)})
	require.True(t, err != nil || compared.Decibels > -20, "of another voice: %v dB", compared.Decibels)
}

func TestTheNoiseIsThatOfTheSeed(t *testing.T) {
	v := load(t, model(t))
	ids := someIDs(60)
	noise := family.Noise{Sound: 0.6, Pace: 0.8, Seed: 7}
	first, frames := speak(t, v, ids, noise)
	require.Len(t, first, frames*int(v.Hop()))
	_, _ = speak(t, v, someIDs(20), noise)
	again, _ := speak(t, v, ids, noise)
	require.Equal(t, first, again)
	noise.Seed++
	other, _ := speak(t, v, ids, noise)
	require.NotEqual(t, first, other)
}

func TestSamplesDoNotDependOnOtherRuns(t *testing.T) {
	v := load(t, model(t))
	ids := someIDs(90)
	noise := family.Noise{Sound: 0.6, Pace: 0.8, Seed: 7}
	alone, frames := speak(t, v, ids, noise)
	require.Len(t, alone, frames*int(v.Hop()))
	var crowd errgroup.Group
	for range 8 {
		crowd.Go(func() error {
			e, err := v.Encode(t.Context(), ids, noise)
			if err != nil {
				return err
			}
			samples, err := e.Samples(family.Round(e.Durations))
			if err == nil && !slices.Equal(alone, samples) {
				err = errors.New("the samples differ")
			}
			return err
		})
	}
	require.NoError(t, crowd.Wait())
}

func TestRoundingCarriesOn(t *testing.T) {
	require.Equal(t, []int{0, 1, 0, 1}, family.Round([]float64{0.4, 0.4, 0.4, 0.4}))
	require.Equal(t, []int{2, 0, 3}, family.Round([]float64{1.6, 0, 3}))
}

func TestWhatIsNoVoiceIsRefused(t *testing.T) {
	_, err := split(neuraltest.Kokoro(true))
	require.ErrorContains(t, err, "no VITS voice")
}

func FuzzSplit(f *testing.F) {
	f.Add(neuraltest.Toy())
	f.Fuzz(func(t *testing.T, file []byte) {
		if parts, err := split(file); err == nil && (parts.Hop < 1 || parts.Hop > 4096) {
			t.Errorf("a frame has %d samples", parts.Hop)
		}
	})
}
