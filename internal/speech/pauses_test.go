package speech_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/enginetest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// pauses are the milliseconds at speed 1 in docs/speech-parameters.md.
func pauses() map[string]float64 {
	return map[string]float64{
		"one meal, one hour":           140,
		"one meal (one hour":           140,
		"one meal [one hour":           140,
		"one (meal) one hour":          140,
		"one meal; one hour":           220,
		"one meal: one hour":           220,
		"one meal — one hour":          220,
		"one meal—one hour":            220,
		"one meal - one hour":          220,
		"one meal -- one hour":         220,
		"one meal. One hour.":          250,
		"one meal! One hour.":          250,
		"one meal? One hour.":          250,
		"- one meal\n- one hour":       300,
		"1. one meal\n2. one hour":     300,
		"one meal\none hour":           300,
		"one meal\n\none hour":         500,
		"# one meal\n\none hour":       600,
		"one meal\n========\none hour": 600,
	}
}

// All engines and ways of speaking have the pauses of the table, which scale with the speed.
func TestPausesAreThoseOfTheTable(t *testing.T) {
	longtest.Only(t)
	speaker := speech.NewSpeaker(openPool(t, 2)).WithSecondEngine(openFlite(t, 2))
	for text, want := range pauses() {
		for _, r := range []speech.Request{
			{Text: text, Model: speech.ModelAurora, Language: "en-us"},
			{Text: text, Model: speech.ModelBlizzard, Language: "en-us"},
			{Text: text, Model: speech.ModelAurora, Language: "de"},
			{Text: text, Model: speech.ModelAurora, Language: "fi"},
		} {
			r.Voice = speech.Voices()[4]
			what := fmt.Sprintf("%q, %s in %s", text, r.Model, r.Language)
			assert.InDelta(t, want, longestSilence(speakWith(t, speaker, r).pcm, speaker.SampleRate()), 15, what)
		}
	}
	for _, speed := range []float64{speech.MinSpeed, 0.5, 1.6, speech.MaxSpeed} {
		for _, text := range []string{"one meal, one hour", "one meal. One hour.", "1. one meal\n2. one hour"} {
			for _, model := range []string{speech.ModelAurora, speech.ModelBlizzard} {
				r := speech.Request{Text: text, Language: "en-us", Voice: speech.Voices()[0], Model: model, Speed: speed}
				assert.InDelta(t, pauses()[text]/speed, longestSilence(speakWith(t, speaker, r).pcm, speaker.SampleRate()), 40,
					"%q, %s at %v", text, model, speed)
			}
		}
	}
	for text, language := range map[string]string{"你好，你好": "cmn", "こんにちは、まいにち": "ja"} {
		r := speech.Request{Text: text, Language: language, Voice: speech.Voices()[0]}
		assert.InDelta(t, 140, longestSilence(speakWith(t, speaker, r).pcm, speaker.SampleRate()), 40, text)
	}
}

// longestSilence returns the milliseconds of the longest silence within speech.
func longestSilence(pcm []byte, rate int) float64 {
	samples := audio.AppendSamples(nil, pcm)
	longest, run, begun := 0, 0, false
	for _, s := range samples {
		if s > -200 && s < 200 {
			run++
			continue
		}
		if begun {
			longest = max(longest, run)
		}
		run, begun = 0, true
	}
	return float64(longest) * 1000 / float64(rate)
}

// There is no pause within a sentence: after abbreviations, at a broken line, and between the segments of a long
// sentence.
func TestNoPauseWithinAClause(t *testing.T) {
	speaker := speech.NewSpeaker(openPool(t, 2)).WithSecondEngine(openFlite(t, 2))
	long := "we will all remember how many lonely animals were living near our old house in that warm and rainy " +
		"winter when nobody would ever have believed how many more would follow in all those long and lonely years " +
		"until nobody knew any more who was living where and why nobody had ever been willing to leave our house alone"
	require.Greater(t, len(speech.Split(long)), 1)
	for text, language := range map[string]string{
		"See No. 5 now": "en-us", "See Fig. 3 now": "en-us", "on Jan. 5 we run": "en-us", "Nyt No. 5 on": "fi",
		"word(s) are here": "en-us", "Er war am 3. Oktober hier": "de", "from 3–4 now": "en-us",
		"All of the animals of our village were here\nand we were all of us in our house.": "en-us",
		long: "en-us",
	} {
		for _, model := range []string{speech.ModelAurora, speech.ModelBlizzard} {
			r := speech.Request{Text: text, Language: language, Voice: speech.Voices()[0], Model: model}
			assert.Less(t, longestSilence(speakWith(t, speaker, r).pcm, speaker.SampleRate()), 125.0, "%s, %q", model, text)
		}
	}
}

// The second engine's pitch rises at the end of a yes-or-no question, and falls at the end of others.
func TestQuestionsRise(t *testing.T) {
	speaker := speech.NewSpeaker(openPool(t, 1)).WithSecondEngine(openFlite(t, 1))
	for _, voice := range longtest.Sample(speech.Voices(), 4) {
		rise := func(text string) float64 {
			r := speech.Request{Text: text, Language: "en-us", Voice: voice, Model: speech.ModelBlizzard}
			pcm := speakWith(t, speaker, r).pcm
			tail := speaker.SampleRate() / 5 * 2
			return enginetest.MedianPitch(pcm[len(pcm)-tail:], speaker.SampleRate()) -
				enginetest.MedianPitch(pcm, speaker.SampleRate())
		}
		assert.Greater(t, rise("Will you come along now?"), rise("You will come along now.")+2, voice.ID)
		assert.Less(t, rise("When will you come along now?"), 2.0, voice.ID)
	}
}
