package worker_test

import (
	"testing"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/enginetest"
)

func TestEngineContract(t *testing.T) {
	enginetest.Run(t, enginetest.Config{
		Open:      func(t *testing.T, workers int) speech.Engine { return openPool(t, workers) },
		Languages: speech.EngineLanguages(),
	})
}
