package speech

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/frontend"
)

// clausesIn returns the text for an engine, with the pauses in milliseconds and a star after questions.
func clausesIn(text string) string {
	said, found := clausesOf(frontend.Spans(text, "en-us"))
	var out []string
	rest := []rune(said)
	for _, c := range found {
		shown := fmt.Sprintf("%s %.0f", strings.TrimSpace(string(rest[:c.runes])), 1000*c.pause)
		if c.question {
			shown += "*"
		}
		out = append(out, shown)
		rest = rest[c.runes:]
	}
	return strings.Join(out, " / ")
}

func TestClauses(t *testing.T) {
	for given, then := range map[string]string{
		"one, two; three: four":                 "one, 140 / two; 220 / three: 220 / four 0",
		"One. Two! Three?":                      "One. 250 / Two! 250 / Three? 250*",
		"one — two—three - four":                "one , 220 / two, 220 / three , 220 / four 0",
		"one (two) three, (four).":              "one, 140 / two, 140 / three, 140 / four . 250",
		"word(s) and f(x)":                      "word(s) and f(x) 0",
		"Mr. Day met J. Fox in Jan. at home.":   "Mister Day met J  Fox in January at home. 250",
		"See Fig. 3 and No. 5":                  "See figure three and number five 0",
		"one\ntwo\n\nthree":                     "one 300 / two 500 / three 0",
		"# One\n\ntwo\n===\nthree":              "One. 600 / two. 600 / three 0",
		"- one\n- two. Three\n":                 "one. 300 / two. 250 / Three. 300",
		"\"One,\" he said. \"Two?\" she asked.": "\"One,\" 140 / he said. 250 / \"Two?\" 250* / she asked. 250",
		"A line that is long enough to be broken\nwithin a sentence": "" +
			"A line that is long enough to be broken\nwithin a sentence 0",
		"你好，你好。":  "你好， 140 / 你好。 250",
		"... — !": "... , ! 0",
	} {
		assert.Equal(t, then, clausesIn(given), "%q", given)
	}
}

// Yes-or-no questions rise at their end; questions with who, what and the like do not.
func TestQuestions(t *testing.T) {
	for text, want := range map[string]bool{
		"Will you come?": true, "And will you come, too?": true, "Do you know what it is?": true, "Ready?": true,
		"What is it?": false, "In which house?": false, "And so, why not?": false, "What's up?": false, "You come.": false,
		"Why? Will you come?": true, "Will you? How?": false,
	} {
		_, found := clausesOf(frontend.Spans(text, "en-us"))
		assert.Equal(t, want, found[len(found)-1].question, text)
	}
}

func FuzzClauses(f *testing.F) {
	for _, text := range []string{"one, two (three) — four. Five?\n\n# six\n- seven", "(((", "—\n-\n=", "a(b)c) d. \n e",
		"\u2029,"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 || !utf8.ValidString(text) {
			t.Skip()
		}
		spans := frontend.Spans(text, "en-us")
		said, found := clausesOf(spans)
		require.Equal(t, utf8.RuneCountInString(frontend.Spoken(spans)), utf8.RuneCountInString(said))
		require.LessOrEqual(t, len(found), maxClauses)
		runes := 0
		for _, c := range found {
			runes += c.runes
			require.True(t, c.pause >= 0 && c.pause <= headingPause)
		}
		require.Equal(t, utf8.RuneCountInString(said), runes)
	})
}
