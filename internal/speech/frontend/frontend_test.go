package frontend_test

import (
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/frontend"
)

// testdata/spoken.tsv has the pairs: kind, language, text, spoken form. In the texts, \n is a new line.
func TestTextsAreSpoken(t *testing.T) {
	content, err := os.ReadFile("testdata/spoken.tsv")
	require.NoError(t, err)
	for line := range strings.Lines(string(content)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		require.Len(t, fields, 4, line)
		text := strings.ReplaceAll(fields[2], `\n`, "\n")
		spans := frontend.Spans(text, fields[1])
		assert.Equal(t, fields[3], strings.ReplaceAll(frontend.Spoken(spans), "\n", `\n`), "%s: %s", fields[0], fields[2])
		requireOriginal(t, text, spans)
	}
}

func requireOriginal(t testing.TB, text string, spans []frontend.Span) {
	t.Helper()
	var original strings.Builder
	for _, s := range spans {
		original.WriteString(s.Original)
	}
	require.Equal(t, text, original.String())
}

// Any text keeps its original, and something is said where something can be.
func FuzzSpans(f *testing.F) {
	content, err := os.ReadFile("testdata/spoken.tsv")
	require.NoError(f, err)
	for line := range strings.Lines(string(content)) {
		f.Add(strings.Split(line, "\t")[2])
	}
	f.Add("\xff1\u200d❤\ufe0f[a](b)**_1/0 $1 V. §0 99999999999999999999th IIII 0.0.0.0 00/00/0000")
	f.Fuzz(func(t *testing.T, text string) {
		for _, language := range []string{"en-us", "en-gb", "de"} {
			spans := frontend.Spans(text, language)
			requireOriginal(t, text, spans)
			if spoken := frontend.Spoken(spans); speakable(text) && !speakable(spoken) {
				t.Fatalf("%q is silent", text)
			}
		}
	})
}

func speakable(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r))
	})
}

const prose = "The quick brown fox jumps over the lazy dog, and then it rests for 5 minutes, e.g. on Main St. in town. "

// BenchmarkSpans is the time for a sentence and for 5,000 characters of several kinds.
func BenchmarkSpans(b *testing.B) {
	frontend.Prepare()
	for name, text := range map[string]string{
		"short": prose, "prose": fill(prose), "digits": fill("7"), "numbers": fill("1 "), "brackets": fill("[(")[:5000],
		"emoji": fill("❤️😂"), "points": fill("a."), "slashes": fill("1/"), "stars": fill("*a_"), "dashes": fill("1-"),
		"at": fill("a@"), "lines": fill("- a\n"), "spaces": fill(" "), "newlines": fill("\n"),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				frontend.Spans(text, "en-us")
			}
		})
	}
}

func fill(part string) string { return strings.Repeat(part, 5000/utf8.RuneCountInString(part)) }
