package worker_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/enginetest"
)

// Pronunciation is checked by the engine's phonemes.
func TestEachScriptIsHeardInItsLanguage(t *testing.T) {
	requireHeard(t, []heard{
		{"cmn", "银行", "j i n X a N"}, // not xing
		{"cmn", "重庆", "ts.h ong tS;h i N"},
		{"cmn", "1987年", "j i tS; iou p A tS;h i n iE n"},
		{"cmn", "我用ChatGPT。", "tS a t dZ i: p i: t i:"},
		{"de", "Das ist in 東京.", "t ong tS; i N"},
		{"en-us", "The word привет.", "p @- r ; i v ; e t"},
		{"en-us", "Say 안녕하세요 now.", "a n n j @ N h a s e j o"},
	})
}

// The pronunciation of homographs depends on the words beside them.
func TestHeteronymsAreHeardByTheirNeighbours(t *testing.T) {
	requireHeard(t, []heard{
		{"en-us", "I like to read.", "r i: d"},
		{"en-us", "I had read that.", "r E d"},
		{"en-us", "A lead pipe.", "l E d"},
		{"en-us", "A live show.", "l aI v"},
		{"en-us", "We record a song.", "k o@ d"},
		{"en-us", "A new record.", "r E k"},
	})
}

// heard are phonemes in the engine's output for a text.
type heard struct{ language, text, phonemes string }

func requireHeard(t *testing.T, tests []heard) {
	t.Helper()
	engine := speech.WithFrontEnd(openPool(t, 2), nil)
	for _, test := range tests {
		phonemes, _ := heardOf(t, engine, speech.Job{Text: test.text, Language: test.language})
		require.Contains(t, phonemes, test.phonemes, test.text)
	}
}

func TestTheWordsOfChineseAreItsLetters(t *testing.T) {
	job := speech.Job{Text: "你好，世界", Voice: speech.Voices()[0], Language: "cmn", Speed: 1}
	said, err := enginetest.Speak(t.Context(), speech.WithFrontEnd(openPool(t, 1), nil), job)
	require.NoError(t, err)
	var at []int
	for _, m := range said.Marks {
		if !m.Silence {
			at = append(at, m.Rune)
		}
	}
	require.Equal(t, []int{0, 1, 3, 4}, at)
}
