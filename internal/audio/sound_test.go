package audio_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/audio"
)

func TestSoundHoldsWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sound audio.Sound
		var want []byte
		for i, size := range rapid.SliceOf(rapid.IntRange(0, 600<<10)).Draw(t, "sizes") {
			part := bytes.Repeat([]byte{byte(i)}, size)
			n, err := sound.Write(part)
			require.NoError(t, err)
			require.Equal(t, size, n)
			want = append(want, part...)
			clear(part) // the buffer belongs to the writer again
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
