package frontend_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/frontend"
)

// For each byte of a text, whatever it consists of, the rules look at 40 bytes at most, and a text of twice the length
// costs twice as much. Prose costs 1 or 2 for each byte.
func TestNoLineCostsMuch(t *testing.T) {
	for _, language := range []string{"en-us", "de"} {
		for name, line := range lines() {
			text := strings.ToValidUTF8(line[:len(line)/4], "")
			bytes, states := frontend.Work(text, language)
			require.LessOrEqual(t, bytes, 40*len(text), "%s in %s", name, language)
			require.Less(t, states, 1000, "%s in %s", name, language)
			twice, _ := frontend.Work(text+text, language)
			require.LessOrEqual(t, twice, 2*bytes+bytes/4, "%s in %s", name, language)
		}
	}
}

// The filter is only there to be quick: what it leaves out does not match.
func TestTheFilterMissesNoRule(t *testing.T) {
	for _, name := range []string{"spoken.tsv", "german.tsv"} {
		for _, p := range readPairs(t, name) {
			require.Empty(t, frontend.Missed(p.text, p.language), "%q in %s", p.text, p.language)
		}
	}
}
