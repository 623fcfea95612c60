package synthesis_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
	"github.com/recital-tts/recital/internal/testing/bintest"
)

// speechworker is the real binary, built once by TestMain.
var speechworker bintest.Program

func TestMain(m *testing.M) { workertest.Main(m, &speechworker, nil) }

// heard returns the audio of a recording.
func heard(t testing.TB, recording synthesis.Recording) string {
	t.Helper()
	var all bytes.Buffer
	n, err := recording.Audio.WriteTo(&all)
	require.NoError(t, err)
	require.Equal(t, recording.Audio.Size(), n)
	return all.String()
}
