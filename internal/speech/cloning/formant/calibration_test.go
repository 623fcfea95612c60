package formant

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
)

func TestTheAccentSaysWhichLanguageIsCompared(t *testing.T) {
	for accent, language := range map[string]string{
		"fr-CA": "fr-fr", "fr_BE": "fr-be", " French ": "fr-fr", "Canadian French": "fr-fr", "es-MX": "es-419", "ru": "ru",
		"it-IT": "it",
		"EN":    "en-us", "British English": "en-us", "en-GB": "en-gb", "pt": "pt", "pt-BR": "pt-br",
	} {
		c := calibrationFor(accent)
		require.Len(t, c.whole, 1, accent)
		require.Len(t, c.brief, 1, accent)
		require.Equal(t, language, c.whole[0].language, accent)
		require.Contains(t, c.whole[0].text, c.brief[0].text, accent)
	}
}

// For a language without sentences, several others have the same weight.
func TestAnUnknownAccentIsComparedWithSeveralLanguages(t *testing.T) {
	for _, accent := range []string{"", "posh", "sw", "auto", "\xff", "x-y-z"} {
		languages := map[string]bool{}
		for _, r := range calibrationFor(accent).whole {
			languages[r.language] = true
		}
		require.Len(t, languages, unknownIn, accent)
	}
}

func TestEachLanguageSaysTheSame(t *testing.T) {
	english := scripts()[0]
	for _, s := range scripts() {
		require.True(t, speech.IsEngineLanguage(s.language), s.language)
		require.Len(t, s.texts, len(english.texts), s.language)
		for i, text := range s.texts {
			require.InDelta(t, len([]rune(english.texts[i])), len([]rune(text)), 35, text)
		}
	}
}
