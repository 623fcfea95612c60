package speech_test

import (
	"testing"

	"github.com/recital-tts/recital/internal/speech/worker/workertest"
	"github.com/recital-tts/recital/internal/testing/bintest"
)

// binary is the real speechworker, built once by TestMain.
var binary bintest.Program

func TestMain(m *testing.M) { workertest.Main(m, &binary, nil) }
