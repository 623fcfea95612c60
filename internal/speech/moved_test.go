package speech_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/enginetest"
)

// installed are installed voices that speak like system voices.
type installed struct {
	engine speech.Engine
	voices map[string]string // ids of system voices by packages
}

func (i installed) Engine(of speech.Installed) (speech.Engine, bool) {
	id, found := i.voices[of.Moved.Package]
	voice, _ := speech.LookupVoice(id)
	return voiced{i.engine, voice}, found
}

func (installed) Admit(context.Context, string) bool { return true }
func (installed) Substituted()                       {}

// voiced is an engine with one voice.
type voiced struct {
	speech.Engine
	voice speech.Voice
}

func (v voiced) Speak(ctx context.Context, job speech.Job) (speech.Utterance, error) {
	job.Voice = v.voice
	return v.Engine.Speak(ctx, job)
}

// cloneOf returns a clone of an installed voice that speaks as zeke where that is missing.
func cloneOf(pack string, pitch, pace float64) speech.Voice {
	return speech.Voice{
		ID: "0123456789abcdef", Variant: "m3", Timbre: &speech.Timbre{PitchLow: 80, PitchHigh: 120, Formants: 1, Pace: 1},
		Installed: &speech.Installed{ID: "heart", Languages: []string{"en-us"},
			Moved: &speech.Moved{Package: pack, Pitch: pitch, Pace: pace}},
	}
}

func readAll(t *testing.T, speaker *speech.Speaker, r speech.Request) (w whole, warning string) {
	t.Helper()
	stream := speaker.Speak(t.Context(), r)
	defer stream.Close()
	w, err := read(t.Context(), stream)
	require.NoError(t, err)
	warning, err = stream.Warning(t.Context())
	require.NoError(t, err)
	return w, warning
}

// A clone of an installed voice is that voice at another pitch and pace, and its word times are correct.
func TestACloneMovesAnInstalledVoice(t *testing.T) {
	pool := openPool(t, 2)
	speaker := speech.NewSpeaker(pool).WithInstalled(installed{pool, map[string]string{"1": "leah"}})
	r := request(story)
	r.Language = "en-us"
	ask := func(pitch, pace, speed float64) whole {
		r.Voice, r.Speed = cloneOf("1", pitch, pace), speed
		w, warning := readAll(t, speaker, r)
		require.Empty(t, warning)
		requireTimings(t, story, w.timings, float64(len(w.pcm)/2)/float64(pool.SampleRate()))
		return w
	}
	own := ask(1, 1, 1)
	pitch := enginetest.MedianPitch(own.pcm, pool.SampleRate())
	for _, factor := range []float64{speech.MinMovedPitch, 0.95, 1.1, speech.MaxMovedPitch} {
		w := ask(factor, 1, 1)
		risen := enginetest.MedianPitch(w.pcm, pool.SampleRate()) - pitch
		require.InDelta(t, 12*math.Log2(factor), risen, 0.3, "semitones by %v", factor)
		require.InEpsilon(t, len(own.pcm), len(w.pcm), 0.05, "it lasts as long")
		for i, timing := range w.timings {
			require.InDelta(t, own.timings[i].Start/float64(len(own.pcm)), timing.Start/float64(len(w.pcm)), 1e-6, timing.Text)
		}
		require.True(t, slices.Equal(w.pcm, ask(factor, 1, 1).pcm), "and sounds the same the next time")
	}
	require.InEpsilon(t, float64(len(own.pcm))/1.2, len(ask(1, 1.2, 1).pcm), 0.05)
	slow := ask(1.1, 1.1, 1)
	require.InEpsilon(t, len(slow.pcm)/2, len(ask(1.1, 1.1, 2).pcm), 0.01, "speeds are relative to the clone's pace")
}

// Where the package is missing or does not speak the language, the clone speaks without it, and clients are warned.
func TestACloneWithoutItsInstalledVoice(t *testing.T) {
	pool := openPool(t, 2)
	speaker := speech.NewSpeaker(pool).WithInstalled(installed{pool, map[string]string{"1": "leah"}})
	r := request(story)
	r.Voice = cloneOf("", 1, 1)
	r.Voice.Installed = nil
	want := map[string]whole{}
	for _, r.Language = range []string{"en-us", "de"} {
		want[r.Language], _ = readAll(t, speaker, r)
	}
	for _, c := range []struct{ pack, language string }{{"another", "en-us"}, {"1", "de"}} {
		r.Voice, r.Language = cloneOf(c.pack, 1, 1), c.language
		w, warning := readAll(t, speaker, r)
		require.Contains(t, warning, "another one speaks in its place")
		require.True(t, slices.Equal(want[c.language].pcm, w.pcm), c.language)
	}
}

// tuneless is an engine that does not know the pitch of phrases, as neural voices do not.
type tuneless struct{ speech.Engine }

func (u tuneless) Speak(ctx context.Context, job speech.Job) (speech.Utterance, error) {
	job.Phrases = slices.Clone(job.Phrases)
	for i := range job.Phrases {
		job.Phrases[i].Pitch, job.Phrases[i].Range = 0, 1
	}
	return u.Engine.Speak(ctx, job)
}

func TestMarkupMovesThePitchOfAnInstalledVoice(t *testing.T) {
	const sentence = "The birds were singing all morning long."
	pool := openPool(t, 2)
	speaker := speech.NewSpeaker(pool).WithInstalled(installed{tuneless{pool}, map[string]string{"1": "leah"}})
	ask := func(pitch string) whole {
		r := markedUp(t, `<speak><prosody pitch="`+pitch+`">`+sentence+`</prosody></speak>`)
		r.Voice, r.Language = cloneOf("1", 1, 1), "en-us"
		w, warning := readAll(t, speaker, r)
		require.Empty(t, warning)
		requireTimings(t, sentence, w.timings, float64(len(w.pcm)/2)/float64(pool.SampleRate()))
		return w
	}
	own := ask("+0st")
	pitch := enginetest.MedianPitch(own.pcm, pool.SampleRate())
	for semitones, asked := range map[float64]string{-5: "-5st", 2: "+2st", 7: "+7st"} {
		w := ask(asked)
		require.InDelta(t, semitones, enginetest.MedianPitch(w.pcm, pool.SampleRate())-pitch, 0.4, asked)
		require.InEpsilon(t, len(own.pcm), len(w.pcm), 0.05, "it lasts as long")
	}
}
