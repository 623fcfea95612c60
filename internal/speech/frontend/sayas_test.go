package frontend_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/frontend"
	"github.com/recital-tts/recital/internal/speech/ssml"
)

// testdata/sayas.tsv has the cases: class, format, language, text, and the spoken form or "-" for none of its own.
func TestTextsAreSaidAsWhatTheyAre(t *testing.T) {
	content, err := os.ReadFile("testdata/sayas.tsv")
	require.NoError(t, err)
	for line := range strings.Lines(string(content)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		require.Len(t, f, 5, line)
		spoken, ok := frontend.SayAs(f[3], f[2], ssml.Class(f[0]), f[1])
		if !ok {
			spoken = "-"
		}
		assert.Equal(t, f[4], spoken, "%s: %s", f[0], f[3])
	}
}

func TestGivenReadingsTakeThePlaceOfRules(t *testing.T) {
	text := "It costs $5 at W3C-5, in 1990."
	at := strings.Index(text, "W3C")
	spans := frontend.Spans(text, "en-us", frontend.Reading{Start: at, End: at + 3, Spoken: "the consortium"})
	requireOriginal(t, text, spans)
	require.Equal(t, "It costs five dollars at the consortium five, in nineteen ninety.", frontend.Spoken(spans))
}

// Any text is read as any class in any language without a panic, and its spoken form is empty only if it is refused.
func FuzzSayAs(f *testing.F) {
	f.Add("1.234,5", "")
	f.Add("-", "")
	f.Add("R$ 0,05", "dmy")
	f.Add("00/00/0000", "ymd")
	classes := []ssml.Class{ssml.Cardinal, ssml.Ordinal, ssml.Characters, ssml.Digits, ssml.Date, ssml.Time,
		ssml.Telephone, ssml.Currency, ssml.Unit}
	f.Fuzz(func(t *testing.T, text, format string) {
		for _, language := range []string{"en-us", "de", "fr-fr", "es-419", "it", "pt", "nl", "pl", "ru"} {
			for _, class := range classes {
				spoken, ok := frontend.SayAs(text, language, class, format)
				if ok && spoken == "" && class != ssml.Characters {
					t.Fatalf("%q is silent as %s", text, class)
				}
			}
		}
	})
}
