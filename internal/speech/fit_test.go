package speech_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/testing/longtest"
	"github.com/recital-tts/recital/internal/testing/proptest"
)

// speakFor reads a stream with a requested length in seconds.
func speakFor(
	t require.TestingT, ctx context.Context, e speech.Engine, r speech.Request, seconds float64,
) (w whole, lasts float64, warning string) {
	r.Length = seconds
	st := speech.NewSpeaker(e).Speak(ctx, r)
	defer st.Close()
	warning, err := st.Warning(ctx)
	require.NoError(t, err)
	w, err = read(ctx, st)
	require.NoError(t, err)
	return w, float64(len(w.pcm)/2) / float64(e.SampleRate()), warning
}

func TestAudioLastsAsLongAsItShall(t *testing.T) {
	pool := openPool(t, 2)
	own := speak(t, pool, request(story))
	ownSeconds := float64(len(own.pcm)/2) / float64(pool.SampleRate())
	for _, pace := range longtest.Sample([]float64{0.26, 0.4, 0.7, 0.95, 1, 1.3, 1.9, 2.4}, 4) {
		w, lasts, warning := speakFor(t, t.Context(), pool, request(story), ownSeconds/pace)
		require.Empty(t, warning, pace)
		require.InEpsilon(t, ownSeconds/pace, lasts, 0.001, pace)
		requireTimings(t, story, w.timings, lasts)
		for i, timing := range w.timings { // each word keeps its share
			require.InDelta(t, own.timings[i].Start/ownSeconds, timing.Start/lasts, 0.06, timing.Text)
		}
	}
}

func TestALengthThatSpeechDoesNotAllow(t *testing.T) {
	pool := openPool(t, 2)
	own := speak(t, pool, request(story))
	ownSeconds := float64(len(own.pcm)/2) / float64(pool.SampleRate())

	_, lasts, warning := speakFor(t, t.Context(), pool, request(story), 0.1)
	require.Contains(t, warning, "length: the text takes ")
	require.InEpsilon(t, ownSeconds/2.5, lasts, 0.01, "as fast as it can")

	_, lasts, warning = speakFor(t, t.Context(), pool, request(story), 300)
	require.NotEmpty(t, warning)
	require.InEpsilon(t, ownSeconds*4, lasts, 0.01, "as slow as it can")
}

// For any text, the length is correct within 5 %, or there is a warning.
func TestAnyTextLastsAsLongAsItShall(t *testing.T) {
	pool := openPool(t, 2)
	proptest.Shortened(t, 4, func(rt *rapid.T) {
		sentence := rapid.SampledFrom([]string{
			"Hello. ", "It is 1,234.50 at noon! ", "今天天气很好。", "😀 ",
			"A long one, with clauses; it goes on and on, until it ends. ", "\n", "... ",
		})
		text := strings.Join(rapid.SliceOfN(sentence, 1, 30).Draw(rt, "text"), "")
		r := request(text)
		r.Language = speech.AutoLanguage
		r.Prosody.Temperature = rapid.Ptr(rapid.Float64Range(0.1, 5), true).Draw(rt, "temperature")
		seconds := rapid.Float64Range(0.1, 60).Draw(rt, "length")
		w, lasts, warning := speakFor(rt, t.Context(), pool, r, seconds)
		if warning == "" {
			require.InEpsilon(rt, seconds, lasts, 0.05)
		}
		requireTimings(rt, text, w.timings, lasts)
	})
}

func TestALengthWhoseTextCannotBeMeasured(t *testing.T) {
	broken := errors.Join(speech.ErrEngineFailed, errors.New("killed"))
	g := &gate{Engine: openPool(t, 1), fail: func(speech.Job) error { return broken }}
	r := request(story)
	r.Length = 3
	st := speech.NewSpeaker(g).Speak(t.Context(), r)
	defer st.Close()
	_, err := st.Warning(t.Context())
	require.ErrorIs(t, err, speech.ErrEngineFailed)
	_, err = st.Next(t.Context())
	require.ErrorIs(t, err, speech.ErrEngineFailed)
}

func TestWithoutALengthThereIsNoWarning(t *testing.T) {
	st := speech.NewSpeaker(openPool(t, 1)).Speak(t.Context(), request(story))
	defer st.Close()
	warning, err := st.Warning(t.Context())
	require.NoError(t, err)
	require.Empty(t, warning)
}
