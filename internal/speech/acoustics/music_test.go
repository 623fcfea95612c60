package acoustics_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/acoustics"
	"github.com/recital-tts/recital/internal/speech/acoustics/acousticstest"
)

func TestMusicIsNotTakenForSpeech(t *testing.T) {
	for _, music := range acousticstest.AllMusic() {
		report, voice := acousticstest.Analyse(acousticstest.Play(music, rate, 6), acoustics.Config{Rate: rate})
		require.True(t, report.Speech == 0 || report.Music > 0.9, "%s: %+v", music, report)
		require.Equal(t, report.Music, voice.Music(), music)
	}
}
