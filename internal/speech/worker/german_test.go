package worker_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/enginetest"
)

// The pronunciation of German is checked by the engine's phonemes.
func TestGermanIsHeardAsItIsMeant(t *testing.T) {
	pool := openPool(t, 2)
	engine := speech.WithFrontEnd(pool, nil)
	heard := func(engine speech.Engine, text string) string {
		job := speech.Job{Text: text, Voice: speech.Voices()[0], Language: "de", Speed: 1, Phonemes: true}
		said, err := enginetest.Speak(t.Context(), engine, job)
		require.NoError(t, err)
		var phonemes []string
		for _, m := range said.Marks {
			if strings.Trim(m.Phoneme, "_:|") != "" {
				phonemes = append(phonemes, m.Phoneme)
			}
		}
		return strings.Join(phonemes, " ")
	}
	for text, meant := range map[string]string{
		"Am 3. Oktober.":      "Am dritten Oktober.",
		"Der 3. Oktober.":     "Der dritte Oktober.",
		"Im Jahr 1987.":       "Im Jahr neunzehnhundertsiebenundachtzig.",
		"Es kostet 12,50 €.":  "Es kostet zwölf Euro fünfzig.",
		"Um 14:05 Uhr.":       "Um vierzehn Uhr fünf.",
		"Nach 1 Stunde, ggf.": "Nach einer Stunde, gegebenenfalls.",
	} {
		require.Equal(t, strings.ReplaceAll(heard(pool, meant), " | ", " "), heard(engine, text), text)
	}
	require.NotEqual(t, heard(pool, "Am 3. Oktober."), heard(engine, "Am 3. Oktober."))
}
