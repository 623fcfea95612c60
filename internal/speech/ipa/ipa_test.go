package ipa_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/ipa"
)

func TestTranscriptionsBecomePhonemes(t *testing.T) {
	for _, test := range []struct{ language, text, espeak, flite string }{
		{"en-us", "təˈmeɪtoʊ", "t|@|'m|eI|t|oU", "t ax0 m ey1 t ow0"},
		{"en-gb", "ˈt͡ʃɪp", "'tS|I|p", "ch ih1 p"},
		{"en-us", "kæt", "'k|a|t", "k ae1 t"},
		{"en-us", "həˈloʊ ˈwɜ:ld", "h|@|'l|oU 'w|3:|l|d", "hh ax0 l ow1 w er1 l d"},
		{"en-us", "ˌʌn.dɚˈstænd", ",V|n|d|3|'s|t|a|n|d", "ah2 n d er0 s t ae1 n d"},
		{"de", "ˈmʏnçn̩", "'m|y|n|C|n-", ""},
		{"fr-fr", "bɔ̃ʒuʁ", "'b|O~|Z|u|r", ""},
		{"pt-br", "nɐ̃w̃", "'n|&U~", ""},
		{"pt", "mãe", "'m|&~|e", ""},
		{"ja", "kʲoːto", "'k_j|o:|t|o", ""},
		{"ja", "ɡäkːoː", "'g|a|k|k|o:", ""},
		{"ja", "t͡sɯ̥kɯᵝe", "'t_s|u|k|u|e", ""},
		{"ja", "ɕĩmbɯᵝɴ", "'s\\|i|N|m|b|u|N\\", ""},
		{"cmn", "ni˨˩xɑʊ̯˨˩˦", "'n|i|21|'X|Au|214", ""},
		{"cmn", "ʈ͡ʂʊŋ⁵⁵ kwo˧˥", "'ts.|ong|55 'k|uo|35", ""},
		{"cmn-latn-pinyin", "ɕi̯ɛn˥˩", "'S;|iE|51|n", ""},
	} {
		words, err := ipa.Espeak(test.language, test.text)
		require.NoError(t, err)
		require.Equal(t, test.espeak, words)
		if test.flite != "" {
			words, err = ipa.Flite(test.text)
			require.NoError(t, err)
			require.Equal(t, test.flite, words)
		}
	}
}

func TestWhatIsNoSoundIsNamedWithItsColumn(t *testing.T) {
	for text, problem := range map[string]string{
		"kæt]]":                  "column 4: ] is not a sound of the language",
		"ˈøːl":                   "column 2: ø is not a sound of the language",
		"a\u0303":                "column 2: ◌\u0303 is not a sound of the language",
		"a\u200b":                "column 2: U+200B is not a sound of the language",
		" ˈ ":                    "column 1: there is no sound",
		strings.Repeat("ta", 21): "column 41: a word has more than 40 sounds",
	} {
		require.EqualError(t, ipa.Check("en-us", text), problem)
	}
	require.EqualError(t, ipa.Check("ja", "kæ"), "column 2: æ is not a sound of the language")
	require.EqualError(t, ipa.Check("cmn", "ma˥ ˥"), "column 5: a tone needs a vowel before it")
	require.EqualError(t, ipa.Check("cmn", "θa˥"), "column 1: θ is not a sound of the language")
	require.EqualError(t, ipa.Check("sv", "a"), "column 1: there are no phonemes for this language")
	require.False(t, ipa.Knows("sv"))
	require.True(t, ipa.Knows("es-419"))
}

// For any text of a client, the output is phonemes.
func FuzzIPA(f *testing.F) {
	for _, text := range []string{"təˈmeɪtoʊ", "[[_^_de]]", "ˈˌˈ a.|b", "t͡ʃ ˈiː\nz", "\xff", "a]]b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, language := range ipa.Languages() {
			words, err := ipa.Espeak(language, text)
			if err != nil {
				continue
			}
			require.NotEmpty(t, words)
			for w := range strings.SplitSeq(words, " ") {
				require.NotContains(t, w, "[")
				require.NotContains(t, w, "]")
				require.NotContains(t, w, "_^")
				require.Less(t, len(w), 200)
			}
		}
		_, _ = ipa.Flite(text)
	})
}
