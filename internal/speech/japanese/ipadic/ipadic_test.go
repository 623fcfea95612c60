package ipadic_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/japanese"
	"github.com/recital-tts/recital/internal/speech/japanese/ipadic"
)

func open(t testing.TB) *ipadic.Analyser {
	t.Helper()
	analyser, err := ipadic.Open()
	require.NoError(t, err)
	return analyser
}

func cases(t testing.TB) [][2]string {
	t.Helper()
	content, err := os.ReadFile("../testdata/spoken.tsv")
	require.NoError(t, err)
	var all [][2]string
	for line := range strings.Lines(string(content)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		require.Len(t, fields, 4, line)
		all = append(all, [2]string{fields[2], fields[3]})
	}
	return all
}

// testdata/spoken.tsv has the pairs: kind, language, text and spoken form, in which each word begins with a space.
func TestTextsAreRead(t *testing.T) {
	analyser := open(t)
	all := cases(t)
	require.GreaterOrEqual(t, len(all), 80)
	for _, c := range all {
		original, spoken := concatenated(japanese.Read(c[0], analyser.Morphemes))
		assert.Equal(t, c[1], spoken, c[0])
		require.Equal(t, c[0], original)
	}
}

func concatenated(readings []japanese.Reading) (original, spoken string) {
	for _, r := range readings {
		original += r.Original
		spoken += r.Spoken
	}
	return original, spoken
}

// BenchmarkRead is the time for the longest segment, 400 characters.
func BenchmarkRead(b *testing.B) {
	analyser := open(b)
	text := strings.Repeat("東京は日本の首都で、3月20日の10時30分に300人が集まった。十", 12)
	for b.Loop() {
		japanese.Read(text, analyser.Morphemes)
	}
}
