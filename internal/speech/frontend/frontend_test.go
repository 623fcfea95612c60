package frontend_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

	"github.com/recital-tts/recital/internal/speech/frontend"
)

// pair is a text and its spoken form.
type pair struct{ kind, language, text, spoken string }

// readPairs reads a table: kind, language, text, spoken form. In the texts, \n is a new line.
func readPairs(t testing.TB, name string) (pairs []pair) {
	t.Helper()
	content, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	for line := range strings.Lines(string(content)) {
		fields := strings.Split(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), `\n`, "\n"), "\t")
		require.Len(t, fields, 4, line)
		pairs = append(pairs, pair{fields[0], fields[1], fields[2], fields[3]})
	}
	return pairs
}

// tables are the files of pairs that the rules were written with.
func tables() []string {
	return []string{"spoken.tsv", "german.tsv", "french.tsv", "spanish.tsv", "italian.tsv", "portuguese.tsv",
		"dutch.tsv", "polish.tsv", "russian.tsv", "counted.tsv"}
}

func TestTextsAreSpoken(t *testing.T) {
	for _, name := range tables() {
		for _, p := range readPairs(t, name) {
			spans := frontend.Spans(p.text, p.language)
			assert.Equal(t, p.spoken, frontend.Spoken(spans), "%s: %s", p.kind, p.text)
			requireOriginal(t, p.text, spans)
		}
	}
}

// Letters that are written with combining accents are read like composed ones.
func TestDecomposedTextsAreSpoken(t *testing.T) {
	for _, name := range tables() {
		for _, p := range readPairs(t, name) {
			decomposed := norm.NFD.String(p.text)
			spans := frontend.Spans(decomposed, p.language)
			assert.Equal(t, norm.NFC.String(p.spoken), norm.NFC.String(frontend.Spoken(spans)), "%s: %s", p.kind, p.text)
			requireOriginal(t, decomposed, spans)
		}
	}
	text := norm.NFD.String("le 3 février café à 5 €")
	at := strings.Index(text, "cafe")
	given := frontend.Reading{Start: at, End: at + len("cafe\u0301"), Spoken: "kafé"}
	spans := frontend.Spans(text, "fr-fr", given)
	requireOriginal(t, text, spans)
	assert.Equal(t, "le trois février kafé à cinq euros", frontend.Spoken(spans))
	assert.True(t, slices.ContainsFunc(spans, func(s frontend.Span) bool { return s.Original == "cafe\u0301" }))
}

func requireOriginal(t testing.TB, text string, spans []frontend.Span) {
	t.Helper()
	var original strings.Builder
	for _, s := range spans {
		original.WriteString(s.Original)
	}
	require.Equal(t, text, original.String())
}

// Any text keeps its original, and the spoken form of a speakable text is not empty.
func FuzzSpans(f *testing.F) {
	for _, name := range tables() {
		for i, p := range readPairs(f, name) {
			if i%12 == 0 { // each is read in 16 languages; TestTextsAreSpoken reads all in their own
				f.Add(p.text)
			}
		}
	}
	f.Add("e\u03011\u0301 \u0301\u0327a\u1100\u1161 \u212b")
	f.Add("\xff1\u200d❤\ufe0f[a](b)**_1/0 $1 V. §0 99999999999999999999th IIII 0.0.0.0 00/00/0000")
	f.Fuzz(func(t *testing.T, text string) {
		for _, language := range []string{"en-us", "en-gb", "de", "sv", "fr-fr", "es", "es-419", "it", "pt", "pt-br", "nl",
			"pl", "ru", "uk", "he", "sw"} {
			spans := frontend.Spans(text, language)
			requireOriginal(t, text, spans)
			if spoken := frontend.Spoken(spans); speakable(text) && !speakable(spoken) {
				t.Fatalf("%q is silent", text)
			}
			if missed := frontend.Missed(text[:min(len(text), 100)], language); len(missed) > 0 {
				t.Fatalf("%q is not read by %q", text, missed)
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
	for name, text := range lines() {
		for prefix, language := range map[string]string{
			"": "en-us", "german-": "de", "french-": "fr-fr", "italian-": "it", "russian-": "ru",
		} {
			b.Run(prefix+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					frontend.Spans(text, language)
				}
			})
		}
	}
}

// lines are texts of one kind.
func lines() map[string]string {
	return map[string]string{
		"short": prose, "prose": fill(prose), "digits": fill("7"), "numbers": fill("1 "), "brackets": fill("[(")[:5000],
		"emoji": fill("❤️😂"), "points": fill("a."), "slashes": fill("1/"), "stars": fill("*a_"), "dashes": fill("1-"),
		"at": fill("a@"), "lines": fill("- a\n"), "spaces": fill(" "), "newlines": fill("\n"), "colons": fill("1:"),
		"links": fill("[a]("), "addresses": fill("a.b-c@"), "paths": fill("/a"), "money": fill("$1-"),
		"paragraphs": fill("§"),
		"letters":    fill("a"), "capitals": fill("AB."), "months": fill("May 1-"), "mixed": fill("1.2,3:4/5-6 x"),
		"links cut": fill("www.a<"), "accents": fill("é1/"), "cyrillic": fill("я. 5-"), "fractions": fill("1/2-3/4"),
		"dates": fill("2020-13-45 "), "laughter": fill("😂1"), "percent": fill("5% "), "groups": fill("123 456 789 "),
		"images": fill("![![ "), "items": fill("5%\n"), "weekdays": fill("Mo. "), "initials": fill("1 A "),
		"telephones": fill("0171 "), "numerals": fill("XIV "), "powers": fill("x² "), "scores": fill("1/21/2 "),
		"flags": fill("🇩🇪"), "strokes": fill("/"), "amounts": fill("$1.50, "), "lists": fill("[1](2)"),
	}
}

func fill(part string) string { return strings.Repeat(part, 5000/utf8.RuneCountInString(part)) }
