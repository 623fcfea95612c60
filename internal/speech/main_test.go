package speech_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/recital-tts/recital/internal/speech/worker/workertest"
)

// binary is the real speechworker, built once by TestMain.
var binary string

func TestMain(m *testing.M) {
	path, remove, err := workertest.Build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = path
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		remove()
		os.Exit(code)
	}))
}
