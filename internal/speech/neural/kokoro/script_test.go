package kokoro_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/neural/kokoro"
	"github.com/recital-tts/recital/internal/speech/pinyin"
)

// spell returns the words of a text in Kokoro's alphabet.
func spell(t *testing.T, language, text string) string {
	t.Helper()
	words, ok := kokoro.Spell(language, []rune(text))
	require.True(t, ok)
	var all []string
	for _, w := range words {
		all = append(all, w.Symbols)
	}
	return strings.Join(all, " ")
}

func TestKanaAreSpelt(t *testing.T) {
	for text, want := range map[string]string{
		"キョー ワ イー テンキ デス。": "kʲoː βa iː teŋkʲi desɨ",
		"ニッポン ノ シンブン":      "ɲiʔpoɴ no ɕimbɯɴ",
		"こんにちは":            "koɲɲiʨiha",
		"ヴァイオリン、フォーク":      "vaioɾʲiɴ ɸoːkɯ",
	} {
		require.Equal(t, want, spell(t, "ja", text), text)
	}
}

func TestPinyinIsSpelt(t *testing.T) {
	for text, want := range map[string]string{
		" ni3 hao3， shi4 jie4。":    "ni↓ xau↓ ʂɨ↘ ʨje↘",
		" zhong1 guo2 nü3 er2 de5": "ꭧʊ→ŋ kwo↗ ny↓ ɚ↗ tɤ",
		" xue2 sheng5 yuan4 yi4":   "ɕɥe↗ ʂəŋ ɥɛ↘n i↘",
		"lv4 OK 3":                 "",
	} {
		require.Equal(t, want, spell(t, "cmn-latn-pinyin", text), text)
	}
}

// The output of the front ends has no letter that is left out.
func TestEachChineseLetterIsSpelt(t *testing.T) {
	for _, letter := range unicode.Han.R16 {
		for r := rune(letter.Lo); r <= rune(letter.Hi); r += rune(letter.Stride) {
			if syllable := pinyin.Spell([]rune{r})[0]; syllable != "" {
				require.NotEmpty(t, spell(t, "cmn", syllable), "%c %s", r, syllable)
			}
		}
	}
}

func TestEachKanaIsSpelt(t *testing.T) {
	for r := 'ァ'; r <= 'ヺ'; r++ {
		symbols := spell(t, "ja", string(r))
		require.NotEmpty(t, symbols)
		require.False(t, strings.ContainsFunc(symbols, func(r rune) bool { return unicode.Is(unicode.Katakana, r) }), "%c", r)
	}
}

func TestWordsAreWhereTheyAreWritten(t *testing.T) {
	words, ok := kokoro.Spell("ja", []rune(" Wi-Fi ヲ ツカウ。"))
	require.True(t, ok)
	require.Equal(t, []kokoro.Word{
		{Start: 7, Runes: 1, Symbols: "o"}, {Start: 9, Runes: 3, Symbols: "ʦɨkaɯ"},
	}, words)
	_, ok = kokoro.Spell("hi", []rune("नमस्ते"))
	require.False(t, ok)
}
