package speech_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/worker"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
)

func TestTheSameRequestAndSeedGiveTheSameAudio(t *testing.T) {
	pool := openPool(t, 2)
	r := request(story)
	r.Prosody = speech.Prosody{Conversational: true, Temperature: new(2.0)}
	r.Seed = 11
	first := speak(t, pool, r)
	for range 3 {
		again := speak(t, pool, r)
		require.True(t, bytes.Equal(first.pcm, again.pcm))
		require.Equal(t, first.timings, again.timings)
	}
	r.Seed = 12
	require.False(t, bytes.Equal(first.pcm, speak(t, pool, r).pcm), "another seed")

	r.Prosody = speech.Prosody{}
	require.True(t, bytes.Equal(speak(t, pool, request(story)).pcm, speak(t, pool, r).pcm),
		"without variation there is one rendering")
}

func TestEveryParameterIsHeard(t *testing.T) {
	pool := openPool(t, 2)
	own := speak(t, pool, request(story))
	heard := map[string]string{string(own.pcm): "the default"}
	varied := speech.Prosody{Temperature: new(1.0)}
	with := func(change func(*speech.Prosody)) speech.Prosody {
		p := varied
		change(&p)
		return p
	}
	for name, p := range map[string]speech.Prosody{
		"conversational": {Conversational: true},
		"temperature 1":  varied,
		"temperature 3":  {Temperature: new(3.0)},
		"top_p":          with(func(p *speech.Prosody) { p.TopP = new(0.3) }),
		"top_k":          with(func(p *speech.Prosody) { p.TopK = new(3) }),
		"expressive":     {Expressive: new(1.6)},
		"quality":        with(func(p *speech.Prosody) { p.Quality = new(1) }),
		"solver":         with(func(p *speech.Prosody) { p.Solver = "midpoint" }),
	} {
		r := request(story)
		r.Prosody, r.Seed = p, 3
		w := speak(t, pool, r)
		require.Empty(t, heard[string(w.pcm)], "%s sounds like another", name)
		heard[string(w.pcm)] = name
		requireTimings(t, story, w.timings, float64(len(w.pcm)/2)/float64(pool.SampleRate()))
		require.InEpsilon(t, len(own.pcm), len(w.pcm), 0.25, "%s: about as long", name)
	}
}

func TestTheSecondEngineSpeaksTheBlizzardModelsEnglish(t *testing.T) {
	pool := openPool(t, 2)
	second, err := worker.Open(worker.Config{Command: workertest.Flite(binary), Size: 1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, second.Close()) })
	require.Equal(t, pool.SampleRate(), second.SampleRate())
	speaker := speech.NewSpeaker(pool).WithSecondEngine(second)
	say := func(model, language, text string) whole {
		st := speaker.Speak(t.Context(), speech.Request{
			Text: text, Voice: speech.Voices()[0], Language: language, Model: model,
		})
		defer st.Close()
		w, err := read(t.Context(), st)
		require.NoError(t, err)
		requireTimings(t, text, w.timings, float64(len(w.pcm)/2)/float64(pool.SampleRate()))
		return w
	}

	plain := speak(t, pool, request(story))
	require.Equal(t, plain.pcm, say(speech.ModelAurora, "en-us", story).pcm)
	blizzard := say(speech.ModelBlizzard, speech.AutoLanguage, story)
	require.NotEqual(t, plain.pcm, blizzard.pcm)
	require.Equal(t, blizzard.pcm, say(speech.ModelBlizzard21, "en-us", story).pcm)
	require.NotEqual(t, blizzard.pcm, say(speech.ModelBlizzard20, "en-us", story).pcm)
	require.NotEqual(t, blizzard.pcm, say(speech.ModelBlizzardDialogue, "en-us", story).pcm)
	require.Equal(t, say(speech.ModelAurora, "de", "Guten Tag.").pcm, say(speech.ModelBlizzard, "de", "Guten Tag.").pcm)
	require.EqualValues(t, 4*len(speech.Split(story)), second.Stats().Jobs)
}
