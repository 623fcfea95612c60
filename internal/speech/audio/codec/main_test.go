//go:build cgo

package codec_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech/audio/codec"
	"github.com/recital-tts/recital/internal/speech/audio/libav"
)

// asWorker as the first argument makes this test binary a codec process.
const asWorker = "serve-codec"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asWorker {
		if err := libav.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func worker() workers.Command {
	return workers.Command{Path: os.Args[0], Args: []string{asWorker}}
}

func openPool(t testing.TB, size int, timeout time.Duration) *codec.Pool {
	t.Helper()
	pool, err := codec.Open(codec.Config{Command: worker(), Size: size, Timeout: timeout})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}
