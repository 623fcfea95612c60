package formant_test

import (
	"testing"

	"github.com/recital-tts/recital/internal/speech/worker/workertest"
)

var workerBinary string

func TestMain(m *testing.M) { workertest.Main(m, &workerBinary, nil) }
