package speech_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/japanese"
)

// reader is an engine that records its jobs and marks each word after a tenth of a second.
type reader struct{ jobs []speech.Job }

func (*reader) SampleRate() int { return 1000 }

func (e *reader) Speak(_ context.Context, job speech.Job) (speech.Utterance, error) {
	e.jobs = append(e.jobs, job)
	reading := &reading{}
	at := 0
	for i, word := range strings.Split(job.Text, " ") {
		reading.marks = append(reading.marks, speech.Mark{Rune: at, Sample: i * 100})
		at += utf8.RuneCountInString(word) + 1
	}
	return reading, nil
}

type reading struct {
	marks []speech.Mark
	read  bool
}

func (r *reading) Next(context.Context) ([]byte, error) {
	if r.read {
		return nil, io.EOF
	}
	r.read = true
	return []byte(strings.Repeat("\x00\x10", 100*len(r.marks))), nil
}

func (r *reading) Marks() []speech.Mark { return r.marks }
func (r *reading) Close()               {}

// The engine gets the text in words, while the timings and the count refer to the written text.
func TestWhatIsSpokenKeepsThePlacesOfWhatIsWritten(t *testing.T) {
	const text = "It is $5.50 now"
	engine := &reader{}
	r := request(text)
	w := speak(t, engine, r)
	require.Equal(t, "It is five dollars and fifty cents now", engine.jobs[0].Text)
	require.Equal(t, utf8.RuneCountInString(text), w.characters)
	requireTimings(t, text, w.timings, 0.8)
	starts := map[string]float64{}
	for _, timing := range w.timings {
		starts[timing.Text] = timing.Start
	}
	require.InDelta(t, 0.1, starts["is"], 0.001)
	require.InDelta(t, 0.2, starts["$"], 0.001)
	require.InDelta(t, 0.5, starts["5.50"], 0.001)
	require.InDelta(t, 0.7, starts["now"], 0.001)
}

// The phrases of a varied reading cover the spoken text.
func TestPhrasesCoverWhatIsSpoken(t *testing.T) {
	engine := &reader{}
	job := speech.Job{Text: "Pay $5, or 10%!", Language: "en-us"}
	job.Phrases = []speech.Phrase{{Runes: 5}, {Runes: 3}, {Runes: 7}}
	_, err := speech.WithFrontEnd(engine, nil).Speak(t.Context(), job)
	require.NoError(t, err)
	require.Equal(t, "Pay five dollars, or ten percent!", engine.jobs[0].Text)
	require.Equal(t, []speech.Phrase{{Runes: 16}, {Runes: 2, Pause: 0.14}, {Runes: 15, Pause: 0.25}},
		engine.jobs[0].Phrases)
}

// Engines refuse phrases that are not as long as the text. A word of many combining marks is spelled, and the last ones
// have no written characters of their own.
func TestPhrasesAreAsLongAsTheSpokenText(t *testing.T) {
	marks := rapid.Map(rapid.IntRange(1, 100), func(n int) string { return strings.Repeat("\u0301", n) })
	rapid.Check(t, func(r *rapid.T) {
		text := strings.ToValidUTF8(rapid.OneOf(anyText(), marks).Draw(r, "text"), "")
		var phrases []speech.Phrase
		for left := utf8.RuneCountInString(text); left > 0; left -= phrases[len(phrases)-1].Runes {
			phrases = append(phrases, speech.Phrase{Runes: rapid.IntRange(max(1, left/3), left).Draw(r, "phrase")})
		}
		engine := &reader{}
		job := speech.Job{Text: text, Language: "en-us", Phrases: phrases}
		_, err := speech.WithFrontEnd(engine, nil).Speak(t.Context(), job)
		require.NoError(r, err)
		runes := 0
		for _, p := range engine.jobs[0].Phrases {
			runes += p.Runes
		}
		if len(engine.jobs[0].Phrases) > 0 {
			require.Equal(r, utf8.RuneCountInString(engine.jobs[0].Text), runes)
		}
	})
}

// Marks on their own are silent, and text in other languages is not changed.
func TestMarksOfMarkdownAreSilent(t *testing.T) {
	engine := &reader{}
	_, err := speech.WithFrontEnd(engine, nil).Speak(t.Context(), speech.Job{Text: "**", Language: "en-us"})
	require.NoError(t, err)
	_, err = speech.WithFrontEnd(engine, nil).Speak(t.Context(), speech.Job{Text: "5 kg", Language: "eu"})
	require.NoError(t, err)
	require.Equal(t, " ", engine.jobs[0].Text)
	require.Equal(t, "5 kg", engine.jobs[1].Text)
}

// overwhelmed is a reader that panics with the text.
type overwhelmed struct{}

func (overwhelmed) Read(_ context.Context, text string) ([]japanese.Reading, error) { panic(text) }

// A panic of the front end fails only its own text, and does not quote it.
func TestAFaultOfTheFrontEndFailsOneText(t *testing.T) {
	speaker := speech.NewSpeaker(&reader{}).WithJapanese(overwhelmed{})
	say := func(text, language string) error {
		st := speaker.Speak(t.Context(), speech.Request{Text: text, Language: language, Voice: speech.Voices()[0]})
		defer st.Close()
		_, err := read(t.Context(), st)
		return err
	}
	err := say("東京へ行く。", "ja")
	require.ErrorContains(t, err, "reading a text panicked")
	require.NotContains(t, err.Error(), "東京")
	require.NoError(t, say("To the coast.", "en-us"))
}
