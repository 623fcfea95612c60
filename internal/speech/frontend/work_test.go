package frontend_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/frontend"
)

// For each byte of a text, whatever it consists of, the rules look at 60 bytes at most, and a text of twice the length
// costs twice as much. Prose costs 1 or 2 for each byte.
func TestNoLineCostsMuch(t *testing.T) {
	for _, language := range []string{"en-us", "de", "fr-fr", "es", "it", "pt", "nl", "pl", "ru", "sv", "uk", "he"} {
		for name, line := range lines() {
			text := strings.ToValidUTF8(line[:len(line)/4], "")
			bytes, states := frontend.Work(text, language)
			require.LessOrEqual(t, bytes, 60*len(text), "%s in %s", name, language)
			require.Less(t, states, 1500, "%s in %s", name, language)
			twice, _ := frontend.Work(text+text, language)
			require.LessOrEqual(t, twice, 2*bytes+bytes/4+1, "%s in %s", name, language)
		}
	}
}

// A line of digits, numbers, brackets or emoji of the length of a segment costs no more than prose.
func TestNoLineCostsMoreThanProse(t *testing.T) {
	for _, language := range []string{"en-us", "de", "fr-fr", "es", "it", "pt", "nl", "pl", "ru"} {
		prose, _ := frontend.Work(lines()["prose"][:300], language)
		for _, kind := range []string{"digits", "numbers", "brackets", "emoji", "flags"} {
			work, _ := frontend.Work(strings.ToValidUTF8(lines()[kind][:300], ""), language)
			require.LessOrEqual(t, work, prose, "%s in %s", kind, language)
		}
	}
}

// The beginning of a list of numbers is read by rules, and so is everything in it that is not only digits.
func TestTheRestOfALongListIsLeft(t *testing.T) {
	text := strings.Repeat("7 ", 100) + "$5 8 9 kg 10 apples"
	spoken := frontend.Spoken(frontend.Spans(text, "en-us"))
	require.True(t, strings.HasPrefix(spoken, "seven seven "), spoken)
	require.True(t, strings.HasSuffix(spoken, " 7 7 seven five dollars 8 nine kilograms ten apples"), spoken)
}

// The filter only saves time: a rule that it omits does not match.
func TestTheFilterMissesNoRule(t *testing.T) {
	for _, name := range []string{"spoken.tsv", "german.tsv"} {
		for _, p := range readPairs(t, name) {
			require.Empty(t, frontend.Missed(p.text, p.language), "%q in %s", p.text, p.language)
		}
	}
}

// The states of a filter are made while texts are read at the same time.
func TestTextsAreReadAtTheSameTime(t *testing.T) {
	text := "Call (555) 123-4567 at 5:30 pm on Jan. 5, 2021 for $5.50, 3/4 of 20 kg or v1.2.3 of https://example.com/a."
	want := frontend.Spoken(frontend.Spans(text, "en-gb"))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range text {
				frontend.Spans(text[i:], "en-gb")
			}
			assert.Equal(t, want, frontend.Spoken(frontend.Spans(text, "en-gb")))
		})
	}
	group.Wait()
}

// Digits and marks in a long row are no text: the rest of it is left to the engine. Rules go on after it.
func TestTheRestOfALongRowIsLeft(t *testing.T) {
	row := strings.Repeat("1/2-3/4+", 600)
	for _, language := range []string{"en-us", "de", "es", "pl", "ru"} {
		short := frontend.Spans(row[:30], language)
		require.NotContains(t, frontend.Spoken(short), "1", language)
		spans := frontend.Spans(row+" 5 kg 😂", language)
		require.Less(t, len(spans), 200, language)
		last := spans[len(spans)-1]
		require.Equal(t, frontend.Emoji, last.Kind, language)
		require.Equal(t, "5 kg", spans[len(spans)-3].Original, language)
		require.Contains(t, frontend.Spoken(spans), strings.Repeat("1/2-3/4+", 500), language)
	}
}
