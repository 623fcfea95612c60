package worker_test

import (
	"context"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/enginetest"
	"github.com/recital-tts/recital/internal/speech/japanese"
	"github.com/recital-tts/recital/internal/speech/japanese/ipadic"
)

// analysed is a reader in this process.
type analysed struct{ analyser *ipadic.Analyser }

func (a analysed) Read(_ context.Context, text string) ([]japanese.Reading, error) {
	return japanese.Read(text, a.analyser.Morphemes), nil
}

// A text in kanji sounds like the same text in kana, and the engine reports the beginning of each word.
func TestKanjiAreHeardByTheirReadings(t *testing.T) {
	analyser, err := ipadic.Open()
	require.NoError(t, err)
	pool := openPool(t, 2)
	for _, test := range []struct {
		text, kana string
		words      []int // the code points at which words begin
	}{
		{"東京は日本の首都です。", "トーキョー ワ ニホン ノ シュト デス。", []int{0, 2, 3, 5, 6, 8}},
		{"3月1日に一人で学校へ。", "サンガツ ツイタチ ニ ヒトリ デ ガッコー エ。", []int{0, 2, 4, 5, 7, 8, 10}},
		{"6本で300円です。", "ロッポン デ サンビャクエン デス。", []int{0, 2, 3, 7}},
	} {
		job := speech.Job{Text: test.text, Voice: speech.Voices()[0], Language: "ja", Speed: 1}
		said, err := enginetest.Speak(t.Context(), speech.WithFrontEnd(pool, analysed{analyser}), job)
		require.NoError(t, err)
		job.Text, job.Phrases = test.kana, []speech.Phrase{speech.OwnPhrase(utf8.RuneCountInString(test.kana))}
		job.Phrases[0].Pause = 0.25
		want, err := enginetest.Speak(t.Context(), pool, job)
		require.NoError(t, err)
		require.Equal(t, want.PCM, said.PCM, test.text)
		var words []int
		for _, m := range said.Marks {
			if !m.Silence {
				words = append(words, m.Rune)
			}
		}
		require.Equal(t, test.words, words, test.text)
	}
}
