package speech_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/speech"
)

func texts(segments []speech.Segment) []string {
	var out []string
	for _, s := range segments {
		out = append(out, s.Text)
	}
	return out
}

func TestSplit(t *testing.T) {
	long := "Then " + strings.Repeat("word ", 49) // 250 characters
	tests := []struct {
		name, given string
		then        []string
	}{
		{"nothing", "", nil},
		{"one word", "Hello", []string{"Hello"}},
		{"the first sentence goes alone", "Hello there. How are you? Fine.", []string{"Hello there. ", "How are you? Fine."}},
		{
			"the first clause goes alone", "The quick brown fox jumps, and it rests. Then it sleeps.",
			[]string{"The quick brown fox jumps, ", "and it rests. Then it sleeps."},
		},
		{"a very short clause does not", "Well, hello there. Bye.", []string{"Well, hello there. ", "Bye."}},
		{"a title", "Dr. Smith and Mrs. Jones met. They talked.", []string{"Dr. Smith and Mrs. Jones met. ", "They talked."}},
		{"an initial", "This is J. R. Tolkien. He wrote.", []string{"This is J. R. Tolkien. ", "He wrote."}},
		{"an abbreviation inside", "Take fruit, e.g. Apples or pears. Then eat.",
			[]string{"Take fruit, e.g. Apples or pears. ", "Then eat."}},
		{"an abbreviation before lower case", "Use approx. five of them etc. and so on. Done.", []string{
			"Use approx. five of them etc. and so on. ", "Done.",
		}},
		{"an abbreviation before a number", "See No. 5 now. Done.", []string{"See No. 5 now. ", "Done."}},
		{"no abbreviation", "He said no. Then he left.", []string{"He said no. ", "Then he left."}},
		{"decimals", "It costs 3.14 or 1,000.50 at 10:30 today. Yes.", []string{
			"It costs 3.14 or 1,000.50 at 10:30 today. ", "Yes.",
		}},
		{"quotes close a sentence", `She said "Stop here now." Then left.`,
			[]string{`She said "Stop here now." `, "Then left."}},
		{"a paragraph", "A title without a stop\n\nThe text begins.",
			[]string{"A title without a stop\n\n", "The text begins."}},
		{"Chinese", "今天天气很好。我们去公园。", []string{"今天天气很好。", "我们去公园。"}},
		{"symbols go with the text before", "Hello there. 😀 😀", []string{"Hello there. 😀 😀"}},
		{"white space goes with the text after", "   \n  Hello there.", []string{"   \n  Hello there."}},
		{"nothing to say at all", " 😀 ", []string{" 😀 "}},
		{
			"later segments take whole sentences", "Go on now please. " + long + "end. Short one. " + long + "end.",
			[]string{"Go on now please. ", long + "end. Short one. ", long + "end."},
		},
		{
			"a long sentence is cut after a clause", "Go on now please. " + long + "comma, " + long + "end.",
			[]string{"Go on now please. ", long + "comma, ", long + "end."},
		},
		{"a German date", "Am 3. Oktober kam er. Dann ging er.", []string{"Am 3. Oktober kam er. ", "Dann ging er."}},
		{"a German ordinal number", "Es ist der 2. Platz. Gut.", []string{"Es ist der 2. Platz. ", "Gut."}},
		{"a number ends a sentence", "I am 25. She is not.", []string{"I am 25. ", "She is not."}},
		{"German abbreviations", "Das ist z. B. Brot, und die Bergstr. 5 kostet 3 Mio. Euro. Gut.",
			[]string{"Das ist z. B. Brot, ", "und die Bergstr. 5 kostet 3 Mio. Euro. Gut."}},
		{"Spanish abbreviations", "El Sr. Gil vio p. ej. Roma y EE. UU. hoy. Bien.",
			[]string{"El Sr. Gil vio p. ej. Roma y EE. UU. hoy. ", "Bien."}},
		{"French abbreviations", "Mme. Roux et M. Petit le virent au chap. 5 en 52 av. J.-C. peut-être. Bien.",
			[]string{"Mme. Roux et M. Petit le virent au chap. 5 en 52 av. J.-C. peut-être. ", "Bien."}},
		{"Russian abbreviations", "Он жил в г. Омске, на ул. Мира, д. 5, до 1990 г. Потом уехал.",
			[]string{"Он жил в г. Омске, ", "на ул. Мира, д. 5, до 1990 г. Потом уехал."}},
		{"a Russian year ends a sentence", "Он жил до 1990 г. Потом уехал.", []string{"Он жил до 1990 г. ", "Потом уехал."}},
		{"Polish abbreviations", "Mieszka przy ul. Długiej 5 i pracuje do godz. 17. Potem wraca.",
			[]string{"Mieszka przy ul. Długiej 5 i pracuje do godz. 17. ", "Potem wraca."}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { require.Equal(t, test.then, texts(speech.Split(test.given))) })
	}
}

func TestSplitCutsTextWithoutPlacesToCut(t *testing.T) {
	tests := map[string]string{
		"a very long word":       strings.Repeat("a", 5000),
		"words without sentence": strings.Repeat("word ", 1000),
		"only spaces":            strings.Repeat(" ", 5000),
		"only stops":             strings.Repeat(".", 5000),
		"digits":                 strings.Repeat("9", 5000),
		"emoji":                  strings.Repeat("👩‍👩‍👧‍👦", 700),
		"a mountain of marks":    "a" + strings.Repeat("\u0301", 5000),
		"not UTF-8":              strings.Repeat("\xff\xc0", 2500),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			segments := speech.Split(text)
			require.Greater(t, len(segments), 1)
			requireSplit(t, text, segments)
		})
	}
}

func TestSplitDoesNotCutThroughGraphemeClusters(t *testing.T) {
	text := strings.Repeat("e\u0301👩‍👩‍👧‍👦", 300)
	for _, s := range speech.Split(text) {
		require.Equal(t, 1+uniseg.GraphemeClusterCount(text[:s.Start]), 1+uniseg.GraphemeClusterCount(text[:s.Start]+s.Text)-
			uniseg.GraphemeClusterCount(s.Text))
	}
}

// requireSplit checks the invariants of every split.
func requireSplit(t require.TestingT, text string, segments []speech.Segment) {
	var joined strings.Builder
	characters := 0
	for _, s := range segments {
		require.Equal(t, joined.Len(), s.Start)
		require.NotEmpty(t, s.Text)
		require.Equal(t, utf8.RuneCountInString(s.Text), s.Characters)
		require.LessOrEqual(t, s.Characters, speech.MaxSegmentCharacters)
		joined.WriteString(s.Text)
		characters += s.Characters
	}
	require.Equal(t, text, joined.String())
	require.Equal(t, utf8.RuneCountInString(text), characters)
}

// anyText draws texts rich in characters that matter to segmentation and timing, sometimes not valid UTF-8.
func anyText() *rapid.Generator[string] {
	part := rapid.OneOf(
		rapid.SampledFrom([]string{
			" ", "  ", "\n", "\t", ". ", ", ", "! ", "? ", "...", "Dr. ", "e.g. ", "3.14", "1,000", "isn't", "of the",
			"。", "，", "你好", "こんにちは", "안녕", "नमस्ते", "สวัสดี", "مرحبا", "é", "e\u0301", "👩‍👩‍👧‍👦", "😀", "(", ")", "\"", "'", "-",
			"\x00", "\xff", "\u200d", "\u0301", "$5", "50%", "word", "Word",
		}),
		rapid.String(),
		rapid.StringN(1, 500, -1),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 10), func(b []byte) string { return string(b) }),
	)
	return rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SampledFrom([]int{0, 1, 3, 20, 200}).Draw(t, "parts") // rapid alone draws few long texts
		return strings.Join(rapid.SliceOfN(part, parts, parts).Draw(t, "text"), "")
	})
}

func TestSplitOfAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := anyText().Draw(t, "text")
		requireSplit(t, text, speech.Split(text))
	})
}

func FuzzSplit(f *testing.F) {
	f.Add("Hello there. Dr. Smith isn't in, e.g. 3.14!")
	f.Add("你好，世界。\xff\x00\u0301")
	f.Fuzz(func(t *testing.T, text string) { requireSplit(t, text, speech.Split(text)) })
}
