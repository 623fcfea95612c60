package speech_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/japanese"
)

// readings is a reader that knows one text.
type readings map[string][]japanese.Reading

func (r readings) Read(_ context.Context, text string) ([]japanese.Reading, error) {
	if found, ok := r[text]; ok {
		return found, nil
	}
	return nil, errors.New("unknown")
}

func toTokyo() readings {
	return readings{
		"東京へ行く。": {{Original: "東京", Spoken: " トーキョー"}, {Original: "へ", Spoken: " エ"}, {Original: "行く", Spoken: " イク"},
			{Original: "。", Spoken: "。"}},
		"こんにちは 東京": {{Original: "こんにちは", Spoken: " コンニチワ"}, {Original: " ", Spoken: " "},
			{Original: "東京", Spoken: " トーキョー"}},
	}
}

// The engine gets the words in kana, while the timings and the count refer to the written text.
func TestJapaneseIsSpokenInKana(t *testing.T) {
	for _, language := range []string{"ja", speech.AutoLanguage} {
		const text = "東京へ行く。"
		engine := &reader{}
		r := request(text)
		r.Language = language
		st := speech.NewSpeaker(engine).WithJapanese(toTokyo()).WithSecondEngine(engine).Speak(t.Context(), r)
		w, err := read(t.Context(), st)
		st.Close()
		require.NoError(t, err)
		require.Equal(t, " トーキョー エ イク。", engine.jobs[0].Text)
		require.Equal(t, "ja", engine.jobs[0].Language)
		require.Equal(t, utf8.RuneCountInString(text), w.characters)
		requireTimings(t, text, w.timings, 0.4)
		starts := map[string]float64{}
		for _, timing := range w.timings {
			starts[timing.Text] = timing.Start
		}
		require.InDelta(t, 0.2, starts["へ"], 0.001)
		require.InDelta(t, 0.3, starts["行"], 0.001)
	}
}

// Each word belongs to a phrase of the written text.
func TestPhrasesCoverJapaneseInKana(t *testing.T) {
	engine := &reader{}
	job := speech.Job{Text: "東京へ行く。", Language: "ja", Phrases: []speech.Phrase{{Runes: 3}, {Runes: 3}}}
	_, err := speech.WithFrontEnd(engine, toTokyo()).Speak(t.Context(), job)
	require.NoError(t, err)
	require.Equal(t, []speech.Phrase{{Runes: 8}, {Runes: 4, Pause: 0.25}}, engine.jobs[0].Phrases)
}

func TestJapaneseWithinAnotherLanguageIsSpokenInKana(t *testing.T) {
	engine := &reader{}
	job := speech.Job{Text: "Er sagte こんにちは 東京 und ging.", Language: "de"}
	_, err := speech.WithFrontEnd(engine, toTokyo()).Speak(t.Context(), job)
	require.NoError(t, err)
	require.Equal(t, "Er sagte  コンニチワ  トーキョー und ging.", engine.jobs[0].Text)
	var languages []string
	for _, p := range engine.jobs[0].Phrases {
		languages = append(languages, p.Language)
	}
	require.Equal(t, []string{"", "ja", ""}, languages)
}

// Without readings, Japanese is left to the engine, and Chinese is never Japanese.
func TestJapaneseWithoutReadingsIsSpokenAsItIsWritten(t *testing.T) {
	for _, japanese := range []speech.JapaneseReader{nil, readings{}} {
		engine := &reader{}
		_, err := speech.WithFrontEnd(engine, japanese).Speak(t.Context(), speech.Job{Text: "東京へ行く。", Language: "ja"})
		require.NoError(t, err)
		require.Equal(t, "東京へ行く。", engine.jobs[0].Text)
	}
	engine := &reader{}
	_, err := speech.WithFrontEnd(engine, toTokyo()).Speak(t.Context(), speech.Job{Text: "東京。", Language: "cmn"})
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(engine.jobs[0].Text, " dong1 jing1"))
}
