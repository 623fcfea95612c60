package rendered

import (
	"testing"

	"github.com/recital-tts/recital/internal/speech/worker/workertest"
)

// binary is the real speechworker, built once by TestMain.
var binary string

func TestMain(m *testing.M) { workertest.Main(m, &binary, nil) }
