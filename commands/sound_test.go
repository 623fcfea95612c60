package commands_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/commands"
)

// heard is the audio of a recording.
func heard(t testing.TB, recording commands.Recording) string {
	t.Helper()
	var all bytes.Buffer
	n, err := recording.Audio.WriteTo(&all)
	require.NoError(t, err)
	require.Equal(t, recording.Audio.Size(), n)
	return all.String()
}

func TestSoundHoldsWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sound commands.Sound
		var want []byte
		for i, size := range rapid.SliceOf(rapid.IntRange(0, 600<<10)).Draw(t, "sizes") {
			part := bytes.Repeat([]byte{byte(i)}, size)
			n, err := sound.Write(part)
			require.NoError(t, err)
			require.Equal(t, size, n)
			want = append(want, part...)
			clear(part) // the writer's own again
		}
		require.EqualValues(t, len(want), sound.Size())
		for range 2 {
			var got bytes.Buffer
			_, err := sound.WriteTo(&got)
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got.Bytes()))
		}
	})
}
