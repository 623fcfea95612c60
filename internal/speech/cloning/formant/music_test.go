package formant_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/acoustics/acousticstest"
	"github.com/recital-tts/recital/internal/speech/cloning"
)

func TestNoVoiceIsMadeOfMusic(t *testing.T) {
	cloner, _ := newCloner(t)
	for _, music := range acousticstest.AllMusic() {
		pcm := []byte{}
		for _, s := range acousticstest.Play(music, rate, 6) {
			pcm = binary.LittleEndian.AppendUint16(pcm, uint16(s))
		}
		_, err := cloner.Fit(t.Context(), analyse(t, cloner, pcm), cloning.Profile{}, nil)
		var unusable *cloning.UnusableError
		require.ErrorAs(t, err, &unusable, music)
	}
}
