package worker_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/worker"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
	"github.com/recital-tts/recital/internal/testing/bintest"
)

// binary is the real speechworker, built once by TestMain.
var binary bintest.Program

func TestMain(m *testing.M) { workertest.Main(m, &binary, nil) }

func openPool(tb testing.TB, size int) *worker.Pool {
	tb.Helper()
	return openConfig(tb, worker.Config{Size: size})
}

func openConfig(tb testing.TB, config worker.Config) *worker.Pool {
	tb.Helper()
	if config.Command.Path == "" {
		config.Command = workertest.Command(binary)
	}
	pool, err := worker.Open(config)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, pool.Close()) })
	return pool
}
