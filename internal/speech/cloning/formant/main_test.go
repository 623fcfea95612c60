package formant_test

import (
	"testing"

	"github.com/recital-tts/recital/internal/speech/worker/workertest"
	"github.com/recital-tts/recital/internal/testing/bintest"
)

var workerBinary bintest.Program

func TestMain(m *testing.M) { workertest.Main(m, &workerBinary, nil) }
