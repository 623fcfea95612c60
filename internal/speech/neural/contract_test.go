package neural_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/enginetest"
	"github.com/recital-tts/recital/internal/speech/installed"
	"github.com/recital-tts/recital/internal/speech/neural"
	"github.com/recital-tts/recital/internal/speech/neural/neuraltest"
	"github.com/recital-tts/recital/internal/speech/worker"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
	"github.com/recital-tts/recital/internal/testing/bintest"
)

// binary is the real speechworker, with neuralworker in the same folder.
var binary bintest.Program

func TestMain(m *testing.M) { workertest.Main(m, &binary, []string{"neuralworker"}) }

// toy is the voice that a process was started with.
var toy = speech.Voice{ID: "toy", Name: "Toy", Gender: "U", Variant: neural.Own}

// open returns a pool with the voice of a folder.
func open(t *testing.T, folder string, size int) *worker.Pool {
	t.Helper()
	pool, err := worker.Open(worker.Config{Size: size, HelloTimeout: time.Minute, Command: command(t, folder),
		GivesUp: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	return pool
}

func command(t testing.TB, folder string) workers.Command {
	return installed.Command(binary.Path(), neuraltest.Runtime(t), folder)
}

func TestNeuralVoicesKeepTheContract(t *testing.T) {
	folder := neuraltest.Folder(t)
	neuraltest.Runtime(t)
	enginetest.Run(t, enginetest.Config{
		Open:      func(t *testing.T, workers int) speech.Engine { return open(t, folder, workers) },
		Languages: []string{"en-us"}, Voices: []speech.Voice{toy}, FixedPitch: true,
	})
}

func TestVoicesOfKokoroKeepTheContract(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute; TestAVoiceWithStylesIsMeasured speaks with such a voice, too")
	}
	neuraltest.Runtime(t)
	enginetest.Run(t, enginetest.Config{
		Open: func(t *testing.T, workers int) speech.Engine {
			return open(t, neuraltest.KokoroFolder(t, toy.ID), workers)
		},
		Languages: []string{"en-us"}, Voices: []speech.Voice{toy}, FixedPitch: true,
	})
}
