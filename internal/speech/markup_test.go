package speech_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/enginetest"
	"github.com/recital-tts/recital/internal/speech/loudness/loudnesstest"
)

func markedUp(t require.TestingT, markup string) speech.Request {
	document, err := speech.ParseMarkup(markup, "en-us")
	require.NoError(t, err)
	require.NotNil(t, document)
	r := request("")
	r.Markup = document
	return r
}

// heardEngine records the jobs of an engine.
type heardEngine struct {
	speech.Engine
	mu   sync.Mutex
	jobs []speech.Job
}

func (e *heardEngine) Speak(ctx context.Context, job speech.Job) (speech.Utterance, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.jobs = append(e.jobs, job)
	return e.Engine.Speak(ctx, job)
}

// spokenBy returns the engine's jobs for a text, in the order of the text.
func spokenBy(t *testing.T, engine speech.Engine, r speech.Request) string {
	t.Helper()
	heard := &heardEngine{Engine: engine}
	speak(t, heard, r)
	var said []string
	for _, job := range heard.jobs {
		said = append(said, job.Text)
	}
	return strings.Join(said, "|")
}

func TestMarkupSteersWhatIsSaid(t *testing.T) {
	pool := openPool(t, 1)
	long := strings.Repeat("This is a sentence of some length, which is said twice. ", 7)
	for markup, want := range map[string]string{
		`<speak>It costs $5.</speak>`:                                               "It costs five dollars.",
		`<speak>Hello <break time="50ms"/>world.</speak>`:                           "Hello |world.",
		"<speak>\n <p>\n  One\n  two\n </p>\n <s>three</s></speak>":                 "     One   two    |three",
		`<speak>The <sub alias="World Wide Web">WWW</sub> is.</speak>`:              "The World Wide Web is.",
		`<speak><sub alias="$5">x</sub></speak>`:                                    "five dollars",
		`<speak>Be <say-as interpret-as="ordinal">3</say-as>!</speak>`:              "Be third!",
		`<speak>In <say-as interpret-as="digits">1990</say-as></speak>`:             "In one nine nine zero",
		`<speak>A <lang xml:lang="de">$5</lang> b</speak>`:                          "A,|fünf Dollar| b",
		`<speak><say-as interpret-as="date">no date</say-as> at</speak>`:            "no date at",
		`<speak>A <phoneme alphabet="ipa" ph="təˈmɑːtoʊ">tomato</phoneme>.</speak>`: "A təˈmɑːtoʊ.",
		`<speak>a<phoneme ph="tiː">T</phoneme>s</speak>`:                            "a tiː s",
		`<speak>a<break time="10ms"/>, <break time="10ms"/>b</speak>`:               "a, |b",
		`<speak><sub alias="` + strings.TrimSpace(long) + `">x</sub> end</speak>`:   strings.TrimSpace(long) + "| end",
	} {
		assert.Equal(t, want, spokenBy(t, pool, markedUp(t, markup)), markup)
	}
}

// A pause has the requested length at any speed, and is part of the word times.
func TestPausesLastAsLongAsAskedFor(t *testing.T) {
	pool := openPool(t, 2)
	rate := pool.SampleRate()
	samples := func(markup string, speed float64) int {
		r := markedUp(t, markup)
		r.Speed = speed
		w := speak(t, pool, r)
		requireTimings(t, r.Markup.Text, w.timings, float64(len(w.pcm)/2)/float64(rate))
		require.Equal(t, r.Markup.Characters(), w.characters)
		return len(w.pcm) / 2
	}
	const none = `<speak>Hello <break strength="none"/>world.</speak>`
	for _, speed := range []float64{1, 1.5} {
		without := samples(none, speed)
		require.Equal(t, without+rate, samples(`<speak>Hello <break time="1s"/>world.</speak>`, speed))
		require.Equal(t, without+rate, samples(`<speak><break time="1s"/>Hello <break time="0s"/>world.</speak>`, speed))
		require.Equal(t, without+5*rate/2,
			samples(`<speak>Hello <break time="1.5s"/> <break time="1s"/>world.</speak>`, speed)-
				samples(`<speak>Hello <break time="0s"/> <break time="0s"/>world.</speak>`, speed)+without)
		require.Equal(t, without+10*rate, samples(`<speak>Hello <break time="0s"/>world.<break time="10s"/></speak>`, speed))
	}

	// and the words after it are later by the same time
	times := speak(t, pool, markedUp(t, `<speak>Hello<break time="2s"/>world.</speak>`)).timings
	before := speak(t, pool, markedUp(t, `<speak>Hello<break time="0s"/>world.</speak>`)).timings
	require.InDelta(t, startOf(t, before, "world")+2, startOf(t, times, "world"), 0.002)
}

func startOf(t *testing.T, timings []speech.Timing, word string) float64 {
	t.Helper()
	for _, timing := range timings {
		if timing.Text == word {
			return timing.Start
		}
	}
	require.Fail(t, "there is no such word", word)
	return 0
}

// With a length, the audio as a whole has that length, and the pauses have their requested lengths.
func TestALengthIncludesThePauses(t *testing.T) {
	pool := openPool(t, 2)
	r := markedUp(t, `<speak>Hello there, <prosody rate="80%">my dear</prosody> world.<break time="2s"/>Again.</speak>`)
	r.Length = 5
	w := speak(t, pool, r)
	require.InDelta(t, 5*pool.SampleRate(), len(w.pcm)/2, 5)
}

func TestProsodyIsHeard(t *testing.T) {
	pool := openPool(t, 2)
	sound := func(attributes string) whole {
		const sentence = "The birds were singing all morning long."
		return speak(t, pool, markedUp(t, "<speak><prosody "+attributes+">"+sentence+"</prosody></speak>"))
	}
	plain, rate := sound(`rate="100%"`), pool.SampleRate()
	for _, percent := range []float64{25, 50, 200} {
		got := sound(fmt.Sprintf(`rate="%g%%"`, percent))
		require.InDelta(t, float64(len(plain.pcm))*100/percent, len(got.pcm), 10, "rate %g", percent)
	}
	for _, steps := range []float64{-12, -6, 6, 12} {
		got := sound(fmt.Sprintf(`pitch="%+gst"`, steps))
		moved := enginetest.MedianPitch(got.pcm, rate) - enginetest.MedianPitch(plain.pcm, rate)
		assert.InDelta(t, steps, moved, 3.5, "pitch %g", steps)
	}
	for decibels, least := range map[float64]float64{-12: -12.5, -6: -6.5, 3: 2, 6: 4, 12: 5} { // loud ones are limited
		got := sound(fmt.Sprintf(`volume="%+gdB"`, decibels))
		moved := loudnesstest.Of(got.pcm, rate) - loudnesstest.Of(plain.pcm, rate)
		assert.GreaterOrEqual(t, moved, least, "volume %g", decibels)
		assert.LessOrEqual(t, moved, decibels+0.5, "volume %g", decibels)
	}
}

func TestPartsAreSpokenInTheirLanguages(t *testing.T) {
	pool := openPool(t, 1)
	heard := &heardEngine{Engine: pool}
	r := markedUp(t, `<speak>Hello, <lang xml:lang="de">Herr Müller</lang>, welcome.</speak>`)
	speak(t, heard, r)
	require.Len(t, heard.jobs, 3)
	require.Equal(t, []string{"en-us", "de", "en-us"},
		[]string{heard.jobs[0].Language, heard.jobs[1].Language, heard.jobs[2].Language})
}

// For any markup, the words are the text's, once and in order, and the spoken text reaches the engine.
func TestAnyMarkupIsSpoken(t *testing.T) {
	pool := openPool(t, 2)
	rapid.Check(t, func(rt *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{
			"Hello", " ", ", ", "\n", "東京", "5 kg ", "😀", `<break time="20ms"/>`, "<s>One.</s>", "<p>Two</p>",
			"un<emphasis>be</emphasis>",
			`<sub alias="other words">W3C</sub>`, `<sub alias="東">e</sub>`, `<say-as interpret-as="characters">ab</say-as>`,
			`<say-as interpret-as="date">x</say-as>`, `<prosody rate="150%" volume="+3dB">fast </prosody>`,
			`<lang xml:lang="ja">東京</lang>`, `<prosody pitch="+3st">&amp;</prosody>`, strings.Repeat("long words ", 40),
		}), 1, 8).Draw(rt, "parts")
		r := markedUp(rt, "<speak>"+strings.Join(parts, "")+"x</speak>")
		r.Language = rapid.SampledFrom([]string{"en-us", "de", "cmn", "auto"}).Draw(rt, "language")
		st := speech.NewSpeaker(pool).Speak(t.Context(), r)
		defer st.Close()
		w, err := read(t.Context(), st)
		require.NoError(rt, err)
		require.LessOrEqual(rt, w.characters, r.Markup.Characters())
		requireTimings(rt, r.Markup.Text, w.timings, float64(len(w.pcm)/2)/float64(pool.SampleRate()))
	})
}

// A dialogue is one text: each part has its voice, and sounds the same as on its own.
func TestEachPartOfADialogueHasItsVoice(t *testing.T) {
	zeke, _ := speech.LookupVoice("zeke")
	r, engine := markedUp(t, `<speak>One. <voice name="Zeke">Two.</voice> <voice name="gone">Three.</voice></speak>`),
		&reader{}
	cast, err := speech.Cast(r.Markup, func(id string) (speech.Voice, error) {
		if id == "gone" {
			return r.Voice, nil
		}
		return new(speech.Catalogue).Find(id)
	})
	require.NoError(t, err)
	r.Cast = cast
	w := speak(t, engine, r)
	require.Equal(t, "One. Two. Three.", joined(w.timings))
	var voices []string
	for _, job := range engine.jobs {
		voices = append(voices, job.Voice.ID)
	}
	require.Equal(t, []string{r.Voice.ID, zeke.ID, r.Voice.ID}, voices)

	_, err = speech.Cast(r.Markup, new(speech.Catalogue).Find)
	var wrong *speech.MarkupError
	require.ErrorAs(t, err, &wrong)
	require.EqualError(t, wrong, "line 1, column 45: the voice of <voice>: there is no such voice")
}

// The language of a single word is unknown, and its phonemes have to be spoken nevertheless.
func TestPhonemesOfAWordAreEnglishInDoubt(t *testing.T) {
	const word = `<speak><phoneme alphabet="ipa" ph="təˈmeɪtoʊ">kiitos</phoneme></speak>`
	require.Equal(t, "fi", speech.DetectLanguage("kiitos"))
	document, err := speech.ParseMarkup(word, speech.AutoLanguage)
	require.NoError(t, err)
	require.Equal(t, "en-us", document.Runs[0].Style.Language)
	_, err = speech.ParseMarkup(word, "fi")
	require.ErrorContains(t, err, "no phonemes for this language")
}
