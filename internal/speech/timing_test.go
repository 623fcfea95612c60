package speech_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/speech"
)

const testRate = 1000 // so that a sample is a millisecond

func word(index, sample int) speech.Mark { return speech.Mark{Rune: index, Sample: sample} }
func silence(sample int) speech.Mark     { return speech.Mark{Sample: sample, Silence: true} }

func element(text string, start, end int) speech.Timing {
	return speech.Timing{Text: text, Start: float64(start) / 1000, Duration: float64(end-start) / 1000}
}

func TestTimings(t *testing.T) {
	tests := []struct {
		name, text string
		marks      []speech.Mark
		samples    int
		then       []speech.Timing
	}{
		{
			"words, space and the pause of the punctuation", "Hello world.",
			[]speech.Mark{word(0, 525), word(6, 850), silence(1250)}, 1638,
			[]speech.Timing{
				element("", 0, 525), element("Hello", 525, 850), element(" ", 850, 850), element("world", 850, 1250),
				element(".", 1250, 1638), element("", 1638, 1638),
			},
		},
		{
			"a pause inside", "Yes, no",
			[]speech.Mark{word(0, 0), silence(300), word(5, 400)}, 700,
			[]speech.Timing{
				element("", 0, 0), element("Yes", 0, 300), element(",", 300, 400), element(" ", 400, 400),
				element("no", 400, 700), element("", 700, 700),
			},
		},
		{
			"one mark for two words is shared by their length", "of the sun",
			[]speech.Mark{word(0, 0), word(7, 500)}, 900,
			[]speech.Timing{
				element("", 0, 0), element("of", 0, 200), element(" ", 200, 200), element("the", 200, 500),
				element(" ", 500, 500), element("sun", 500, 900), element("", 900, 900),
			},
		},
		{
			"several marks inside a number", "1,234 it",
			[]speech.Mark{word(0, 0), word(1, 100), silence(150), word(2, 300), word(6, 800)}, 900,
			[]speech.Timing{
				element("", 0, 0), element("1,234", 0, 800), element(" ", 800, 800), element("it", 800, 900),
				element("", 900, 900),
			},
		},
		{
			"the position of a space belongs to the next word", "for a",
			[]speech.Mark{word(0, 0), word(3, 200)}, 300,
			[]speech.Timing{
				element("", 0, 0), element("for", 0, 200), element(" ", 200, 200), element("a", 200, 300),
				element("", 300, 300),
			},
		},
		{
			"a position that repeats", "世界",
			[]speech.Mark{word(0, 0), word(0, 100), word(1, 400)}, 600,
			[]speech.Timing{
				element("", 0, 0), element("世", 0, 400), element("界", 400, 600), element("", 600, 600),
			},
		},
		{
			"a symbol that is said and one that is not", "5 % 😀",
			[]speech.Mark{word(0, 0), word(2, 300)}, 800,
			[]speech.Timing{
				element("", 0, 0), element("5", 0, 300), element(" ", 300, 300), element("%", 300, 800),
				element(" ", 800, 800), element("😀", 800, 800), element("", 800, 800),
			},
		},
		{
			"an apostrophe stays in its word, other punctuation does not", "isn't (so)",
			[]speech.Mark{word(0, 0), word(6, 300)}, 600,
			[]speech.Timing{
				element("", 0, 0), element("isn't", 0, 300), element(" ", 300, 300), element("(", 300, 300),
				element("so", 300, 600), element(")", 600, 600), element("", 600, 600),
			},
		},
		{
			"an abbreviation is a word with its full stops", "see e.g. U.S. v. J. Doe",
			[]speech.Mark{word(0, 0), word(4, 100), word(9, 300), word(14, 400), word(17, 500), word(20, 600)}, 800,
			[]speech.Timing{
				element("", 0, 0), element("see", 0, 100), element(" ", 100, 100), element("e.g.", 100, 300),
				element(" ", 300, 300),
				element("U.S.", 300, 400), element(" ", 400, 400), element("v", 400, 500), element(".", 500, 500),
				element(" ", 500, 500),
				element("J", 500, 600), element(".", 600, 600), element(" ", 600, 600), element("Doe", 600, 800),
				element("", 800, 800),
			},
		},
		{
			"Thai syllables", "สวัสดีเธอ",
			[]speech.Mark{word(0, 0)}, 900,
			[]speech.Timing{
				element("", 0, 0), element("ส", 0, 100), element("วั", 100, 300), element("ส", 300, 400), element("ดี", 400, 600),
				element("เธ", 600, 800), element("อ", 800, 900), element("", 900, 900),
			},
		},
		{
			"nothing said", " ... ", nil, 100,
			[]speech.Timing{
				element("", 0, 0), element(" ", 0, 0), element("...", 0, 0), element(" ", 0, 0), element("", 0, 100),
			},
		},
		{"no text", "", nil, 100, []speech.Timing{element("", 0, 100), element("", 100, 100)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.then, speech.Timings(test.text, test.marks, test.samples, testRate))
		})
	}
}

// requireTimings checks the invariants of every list of timings.
func requireTimings(t require.TestingT, text string, timings []speech.Timing, seconds float64) {
	require.GreaterOrEqual(t, len(timings), 2)
	require.Empty(t, timings[0].Text)
	require.Empty(t, timings[len(timings)-1].Text)
	var joined strings.Builder
	now := 0.0
	for i, timing := range timings {
		inner := i > 0 && i < len(timings)-1
		require.Equal(t, inner, timing.Text != "")
		joined.WriteString(timing.Text)
		require.GreaterOrEqual(t, timing.Start, now)
		require.GreaterOrEqual(t, timing.Duration, 0.0)
		require.LessOrEqual(t, math.Round((timing.Start+timing.Duration)*1e6), math.Round(seconds*1e6))
		now = timing.Start
	}
	require.Equal(t, text, joined.String())
}

func anyMarks() *rapid.Generator[[]speech.Mark] {
	mark := rapid.Custom(func(t *rapid.T) speech.Mark {
		return speech.Mark{
			Rune:    rapid.IntRange(-5, 300).Draw(t, "rune"),
			Sample:  rapid.IntRange(-5, 100_000).Draw(t, "sample"),
			Silence: rapid.Bool().Draw(t, "silence"),
		}
	})
	return rapid.SliceOfN(mark, 0, 50)
}

func TestTimingsOfAnyTextAndMarks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := anyText().Draw(t, "text")
		samples := rapid.IntRange(0, 90_000).Draw(t, "samples")
		timings := speech.Timings(text, anyMarks().Draw(t, "marks"), samples, 22050)
		requireTimings(t, text, timings, float64(samples)/22050)
	})
}

func FuzzTimings(f *testing.F) {
	f.Add("Hello 1,234.50 of the world, e.g. isn't it? 你好 สวัสดี", []byte("\x00\x05\x01\x10\x03\x20"))
	f.Add("\xff\u0301.e.g", []byte("abcdefgh"))
	f.Fuzz(func(t *testing.T, text string, events []byte) {
		var marks []speech.Mark
		at := 0
		for ; len(events) >= 2; events = events[2:] {
			at += int(events[1]) * 20
			marks = append(marks, speech.Mark{Rune: int(events[0] >> 1), Sample: at, Silence: events[0]&1 == 1})
		}
		timings := speech.Timings(text, marks, at+100, 22050)
		requireTimings(t, text, timings, float64(at+100)/22050)
	})
}
