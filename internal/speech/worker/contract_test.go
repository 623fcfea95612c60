package worker_test

import (
	"testing"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/enginetest"
	"github.com/recital-tts/recital/internal/speech/worker"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
)

func TestEspeakKeepsTheContract(t *testing.T) {
	enginetest.Run(t, enginetest.Config{
		Open:      func(t *testing.T, workers int) speech.Engine { return openPool(t, workers) },
		Languages: speech.EngineLanguages(),
	})
}

func TestFliteKeepsTheContract(t *testing.T) {
	if testing.Short() {
		t.Skip("the longest of the contracts")
	}
	enginetest.Run(t, enginetest.Config{
		Open: func(t *testing.T, workers int) speech.Engine {
			return openConfig(t, worker.Config{Size: workers, Command: workertest.Flite(binary)})
		},
		Languages: []string{"en-us"},
	})
}
