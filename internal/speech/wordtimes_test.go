package speech_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/worker"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
)

// elements returns the timings of this text.
func elements(w whole, text string) (out []speech.Timing) {
	for _, timing := range w.timings {
		if timing.Text == text {
			out = append(out, timing)
		}
	}
	return out
}

// said are words with their minimum and maximum durations, in seconds.
type said struct {
	text        string
	least, most float64
}

func TestWordTimesOfWhatIsWrittenShorterThanSaid(t *testing.T) {
	pool := openPool(t, 2)
	second, err := worker.Open(worker.Config{Command: workertest.Flite(binary), Size: 1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, second.Close()) })
	tests := []struct {
		name, language, text string
		words                []said
		flite                bool // also tested with flite
	}{
		{"a number", "en-us", "They paid 1,234.50 in all.", []said{
			{"They", .05, .5}, {"paid", .1, .7}, {"1,234.50", 2, 5}, {"in", .05, .5}, {"all", .15, .8},
		}, true},
		{"an ordinal", "en-us", "On the 21st we left.", []said{
			{"On", .05, .5}, {"the", .03, .4}, {"21st", .5, 1.3}, {"we", .05, .5}, {"left", .15, .8},
		}, true},
		{"abbreviations", "en-us", "Ask Dr. Smith, e.g. at noon.", []said{
			{"Dr", .25, .8}, {"Smith", .25, .8}, {"e.g.", .4, 1.4}, {"at", .05, .5}, {"noon", .2, .8},
		}, true},
		{"contractions", "en-us", "It isn't so and we'll say we can't.", []said{
			{"isn't", .15, .8}, {"so", .1, .6}, {"we'll", .08, .6}, {"can't", .2, .9},
		}, true},
		{"merged words", "en-us", "One of the men has been in the sun for the day.", []said{
			{"of", .03, .4}, {"men", .15, .7}, {"has", .05, .5}, {"been", .05, .5}, {"in", .03, .4},
			{"sun", .2, .8}, {"for", .03, .4}, {"day", .15, .8},
		}, true},
		{"symbols", "en-us", "About 50% cost $5.99 & more.", []said{
			{"50", .2, 1}, {"%", .25, 1}, {"$", .1, 1}, {"5.99", .6, 2}, {"&", .05, .5}, {"more", .15, .8},
		}, false},
		{"an emoji", "en-us", "Hello 😀 world.", []said{{"Hello", .2, .8}, {"😀", .1, 2}, {"world", .2, .9}}, false},
		{"German", "de", "Das sind 1.234,50 Euro, z.B. am 3. Mai.", []said{
			{"Das", .05, .5}, {"1.234,50", 1.5, 5}, {"Euro", .2, .8}, {"z.B.", .3, 1.6}, {"Mai", .1, .6},
		}, false},
		{"French", "fr-fr", "L'homme n'a pas 21 ans aujourd'hui.", []said{
			{"L'homme", .1, .6}, {"n'a", .05, .4}, {"21", .2, 1}, {"aujourd'hui", .25, 1},
		}, false},
		{"Russian", "ru", "В 2024 году 5% людей.", []said{
			{"2024", .8, 3}, {"году", .1, .6}, {"5", .15, .8}, {"%", .3, 1.2}, {"людей", .2, .9},
		}, false},
		{"Hindi", "hi", "आज 25 दिसंबर है।", []said{{"आज", .1, .6}, {"25", .2, 1}, {"दिसंबर", .3, 1}, {"है", .1, .5}}, false},
		{"Arabic", "ar", "كيف حالك؟", []said{{"كيف", .15, .8}, {"حالك", .25, 1}, {"؟", 0, .6}}, false},
		{"Korean", "ko", "저는 학생입니다.", []said{{"저는", .2, .8}, {"학생입니다", .5, 1.5}}, false},
		{"Chinese", "cmn", "今天很好，2024年。", []said{
			{"今", .2, .6}, {"天", .2, .7}, {"很", .2, .7}, {"好", .2, .8}, {"，", .05, .6}, {"2024", .7, 2.5}, {"年", .2, .8},
		}, false},
		{"Japanese", "ja", "こんにちは。カタカナ", []said{
			{"こ", .05, .4}, {"ん", .05, .4}, {"に", .05, .4}, {"。", .1, .8}, {"カ", .05, .4}, {"ナ", .05, .4},
		}, false},
		{"Thai", "th", "ผมชื่อสมชาย วันนี้", []said{
			{"ชื่", .05, .6}, {"ชา", .05, .6}, {"วั", .05, .6}, {"นี้", .05, .6},
		}, false},
		{"Burmese", "my", "မင်္ဂလာပါ", []said{{"လာ", .03, .6}, {"ပါ", .03, .6}}, false},
	}
	engines := map[string]speech.Engine{"espeak": pool, "flite": second}
	for _, test := range tests {
		for name, engine := range engines {
			if name == "flite" && !test.flite {
				continue
			}
			t.Run(test.name+" by "+name, func(t *testing.T) {
				r := request(test.text)
				r.Language = test.language
				w := speak(t, engine, r)
				requireTimings(t, test.text, w.timings, float64(len(w.pcm)/2)/float64(engine.SampleRate()))
				for _, word := range test.words {
					found := elements(w, word.text)
					require.NotEmpty(t, found, "%q is an element of %v", word.text, w.timings)
					for _, timing := range found {
						require.GreaterOrEqual(t, timing.Duration, word.least, word.text)
						require.LessOrEqual(t, timing.Duration, word.most, word.text)
					}
				}
			})
		}
	}
}

// A word starts where it is spoken: the audio before it is as long as the same text without it.
func TestWordsStartWhereTheTextBeforeThemEnds(t *testing.T) {
	pool := openPool(t, 1)
	for before, word := range map[string]string{
		"It cost 1,234 of the ": "birds", "On the 3rd of the ": "month", "Ask Dr. Smith in the ": "house",
		"She isn't in the ": "garden",
	} {
		start := elements(speak(t, pool, request(before+word)), word)[0].Start
		prefix := speak(t, pool, request(before))
		require.InDelta(t, float64(len(prefix.pcm)/2)/float64(pool.SampleRate()), start, 0.25, before)
	}
}
