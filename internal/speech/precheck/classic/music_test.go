package classic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/acoustics/acousticstest"
	"github.com/recital-tts/recital/internal/speech/precheck/classic"
)

func TestMusicIsNoGoodRecording(t *testing.T) {
	for _, music := range acousticstest.AllMusic() {
		score := classic.Score(analyse(acousticstest.Play(music, 16000, 6), 16000))
		require.Less(t, score, 1.5, music)
	}
}

func TestARecordingOfNoUseHasAWarning(t *testing.T) {
	u := utterance(t)
	noisy := u
	noisy.Samples = acousticstest.Add(u.Samples, u.Rate, acousticstest.White, 5, nil)
	for warning, recording := range map[string]acousticstest.Utterance{
		"":          u,
		"music":     {Rate: 16000, Samples: acousticstest.Play(acousticstest.Band, 16000, 6)},
		"noise":     noisy,
		"no speech": {Rate: 16000, Samples: make([]int16, 16000)},
	} {
		result, err := open().Check(t.Context(), file(recording))
		require.NoError(t, err)
		if warning == "" {
			require.Empty(t, result.Warning)
			continue
		}
		require.Contains(t, result.Warning, warning)
		require.Less(t, result.DNSMOS, 1.5, warning)
	}
}
