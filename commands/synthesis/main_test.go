package synthesis_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/internal/speech/speechtest"
)

// processes are shared by the tests.
var processes speechtest.Processes

func TestMain(m *testing.M) { speechtest.Main(m, &processes) }

// heard returns the audio of a recording.
func heard(t testing.TB, recording synthesis.Recording) string {
	t.Helper()
	var all bytes.Buffer
	n, err := recording.Audio.WriteTo(&all)
	require.NoError(t, err)
	require.Equal(t, recording.Audio.Size(), n)
	return all.String()
}
