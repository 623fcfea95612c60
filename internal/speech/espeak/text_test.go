package espeak

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/engineproto"
)

func TestCleanText(t *testing.T) {
	tests := []struct {
		name, given, then string
		breaks            []uint32
	}{
		{"plain text stays", "Hello, wörld.\nYes 😀", "Hello, wörld.\nYes 😀", nil},
		{"control characters", "a\x00b\x01c\x1bd\te\u0085f", "a b c d e f", nil},
		{"private use and noncharacters", "a\ue000b\uffffc\U0010ffffd\ufdd0e", "a b c d e", nil},
		{"not UTF-8", "a\xffb", "a b", nil},
		{
			"a long word", strings.Repeat("x", 130),
			strings.Repeat("x", 60) + " " + strings.Repeat("x", 60) + " " + strings.Repeat("x", 10), []uint32{60, 121},
		},
		{"a run of emoji", "😀🎉a 😀👩‍🚀👍🏽🇩🇪", "😀 🎉a 😀 👩‍🚀 👍🏽🇩🇪", []uint32{1, 6, 10}},
		{"words", strings.Repeat("word ", 50), strings.Repeat("word ", 50), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text, breaks := cleanText([]rune(test.given))
			require.Equal(t, test.then, text)
			require.Equal(t, test.breaks, breaks)
		})
	}
}

func TestCleanTextOfAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runes := rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune{'x', 'x', 'x', '你', '\u0301', ' ', '\x00'}))
		given := rapid.StringOfN(runes, 0, rapid.SampledFrom([]int{5, 300}).Draw(t, "size"), -1).Draw(t, "text")
		text, breaks := cleanText([]rune(given))

		require.True(t, utf8.ValidString(text))
		for word := range strings.FieldsSeq(text) {
			require.LessOrEqual(t, utf8.RuneCountInString(word), maxWordRunes)
			require.Less(t, len(word), 160)
		}
		require.False(t, strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }))
		kept := slices.Collect(func(yield func(rune) bool) {
			for i, r := range []rune(text) {
				if !slices.Contains(breaks, uint32(i)) && !yield(r) {
					return
				}
			}
		})
		require.Len(t, kept, utf8.RuneCountInString(given), "every character keeps its place")
		for i, r := range []rune(given) {
			if isFit(r) {
				require.Equal(t, r, kept[i])
			}
		}
	})
}

func TestEveryEngineLanguageHasAFile(t *testing.T) {
	for _, language := range speech.EngineLanguages() {
		require.Contains(t, languageFiles, language)
	}
	require.Len(t, languageFiles, len(speech.EngineLanguages()))
}

func FuzzPrepare(f *testing.F) {
	f.Add([]byte(`{"text":"hi","variant":"f2","language":"en-us","speed":1}`))
	f.Add([]byte(`{"text":"hi","variant":"f2","language":"en-us","speed":1,"timbre":{"pitch_low":90,"pitch_high":130,"formants":1.1,"pace":1}}`))
	f.Add([]byte(`{"text":"hi","variant":"../x","language":"en-us+f2","speed":-1}`))
	f.Add([]byte(`{"text":"hi","variant":"f2","language":"en-us","speed":1,"phrases":[{"runes":2,"range":2,"rate":1.25,"pitch":6,"gain":4,"gap":0.1,"pause":2}]}`))
	_, err := open() // for the folder of its data
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, payload []byte) {
		job, err := engineproto.ParseJob(workers.Frame{Kind: engineproto.KindJob, Payload: payload})
		if err != nil {
			return
		}
		prepared, err := prepare(job)
		if err != nil {
			return
		}
		for _, p := range mustOrder(t, prepared).parts {
			require.True(t, speech.IsVariant(prepared.Variant))
			file, variant, _ := strings.Cut(p.voice.name, "+")
			if prepared.Timbre == nil {
				require.Equal(t, prepared.Variant, variant)
				require.Contains(t, languageFiles, strings.ToLower(languageOf(file)))
			} else {
				require.True(t, prepared.Timbre.Valid())
				require.Empty(t, p.voice.name)
			}
			require.True(t, p.rate >= 64 && p.rate <= 450, p.rate)
			require.True(t, p.pitch >= 0 && p.pitch <= 100 && p.width >= 0 && p.width <= 100 && p.volume >= 0 && p.volume <= 200)
			require.True(t, p.wordGap >= 0 && p.silence >= 0 && p.silence <= 1<<20)
			require.NotContains(t, p.text, "\x00")
		}
	})
}

func languageOf(file string) string {
	for language, other := range languageFiles {
		if other == file {
			return language
		}
	}
	return ""
}

func mustOrder(t require.TestingT, of task) order {
	o, err := of.order(22050)
	require.NoError(t, err)
	return o
}
