package speech_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/speech"
)

// grow adds a text to a Segmenter in pieces and returns the segments, flushed at the end.
func grow(pieces ...string) (segments []string) {
	var s speech.Segmenter
	for _, piece := range pieces {
		s.Add(piece)
		for segment, ok := s.Next(); ok; segment, ok = s.Next() {
			segments = append(segments, segment.Text)
		}
	}
	return append(segments, flush(&s)...)
}

func flush(s *speech.Segmenter) (segments []string) {
	for segment, ok := s.Flush(); ok; segment, ok = s.Flush() {
		segments = append(segments, segment.Text)
	}
	return segments
}

func TestASegmentIsGivenOutAsSoonAsItsEndIsCertain(t *testing.T) {
	for name, c := range map[string]struct {
		pieces []string
		want   []string // after each piece, "" for none
	}{
		"a clause, when the next word begins": {
			[]string{"Once upon a time,", " ", "there"}, []string{"", "", "Once upon a time, "}},
		"a clause that is short goes on": {[]string{"Well, well, ", "that is enough, ", "so"},
			[]string{"", "", "Well, well, that is enough, "}},
		"a sentence": {[]string{"Hi! ", "How"}, []string{"", "Hi! "}},
		"a full stop waits": {[]string{"It is 3.", "14 today. ", "(", "Next"},
			[]string{"", "", "", "It is 3.14 today. "}},
		"an abbreviation is no end": {[]string{"Dr. ", "Smith came in. ", "He"},
			[]string{"", "", "Dr. Smith came in. "}},
		"the word after a number decides": {[]string{"Am 3. ", "Okt", "ober kam er. Da", "nn"},
			[]string{"", "", "Am 3. Oktober kam er. ", ""}},
		"a wide mark needs no space": {[]string{"你好。", "我"}, []string{"", "你好。"}},
		"words may be cut anywhere": {[]string{"Once upo", "n a ti", "me, th", "ere"},
			[]string{"", "", "Once upon a time, ", ""}},
		"what has nothing to say waits": {[]string{"… ", "— ", "Hello there! ", "A"},
			[]string{"", "", "", "… — Hello there! "}},
	} {
		t.Run(name, func(t *testing.T) {
			var s speech.Segmenter
			for i, piece := range c.pieces {
				s.Add(piece)
				segment, _ := s.Next()
				require.Equal(t, c.want[i], segment.Text, "after %q", piece)
				require.Equal(t, utf8.RuneCountInString(segment.Text), segment.Characters)
			}
		})
	}
}

func TestAFlushGivesTheRestAndBeginsAnew(t *testing.T) {
	var s speech.Segmenter
	s.Add("Hello")
	require.Equal(t, []string{"Hello"}, flush(&s))
	require.Zero(t, s.Waiting())
	require.Empty(t, flush(&s))

	s.Add("Once upon a time, there was")
	segment, ok := s.Next()
	require.True(t, ok, "the first clause after a flush is spoken at once, too")
	require.Equal(t, "Once upon a time, ", segment.Text)
	require.Equal(t, len("there was"), s.Waiting())
	s.Reset()
	require.Empty(t, flush(&s))
}

// A million spaces after a full stop do not delay a segment for ever.
func TestATextWithoutAnEndIsCutAllTheSame(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("a", 20_000), "End." + strings.Repeat(" ", 20_000), strings.Repeat("🎉", 20_000),
		strings.Repeat("e\u0301\u0302", 20_000),
		"a" + strings.Repeat("\u0301", 20_000), strings.Repeat(".", 20_000), strings.Repeat("你", 20_000),
	} {
		var s speech.Segmenter
		s.Add(text)
		var got strings.Builder
		for segment, ok := s.Next(); ok; segment, ok = s.Next() {
			require.LessOrEqual(t, segment.Characters, speech.MaxSegmentCharacters)
			got.WriteString(segment.Text)
		}
		require.LessOrEqual(t, s.Waiting(), 8<<10)
		got.WriteString(strings.Join(flush(&s), ""))
		require.Equal(t, text, got.String())
	}
}

// growing draws texts of characters that matter to segmentation.
var growing = rapid.Custom(func(t *rapid.T) string {
	least := rapid.SampledFrom([]int{0, 40, 200}).Draw(t, "least") // drawn lists are short, and segments are not
	parts := rapid.SliceOfN(rapid.SampledFrom([]string{
		"a", "Word", "longer words here", "time", "café", "e.g.", "Dr.", "3.14", "U.S.", "No.", "7", " ", " ", " ", "\n",
		"  ", ".", ". ", ", ", "; ",
		"! ", "?", "…", "\"", "”", "(", ")", "—", "。", "，", "你好", "これは", "🎉", "👨‍👩‍👧", "e\u0301", "مرحبا", "، ", "हिन्दी",
		"। ", "\u0301", "🇩🇪",
	}), least, least+40).Draw(t, "parts")
	return strings.Join(parts, "")
})

// The cuts depend on the text alone, not on the pieces in which it arrived.
func TestPiecesDoNotMoveTheSegments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := growing.Draw(t, "text")
		whole := grow(text)
		require.Equal(t, text, strings.Join(whole, ""))
		require.Equal(t, whole, grow(cutUp(t, text)...))
	})
}

// cutUp splits a text between any two of its code points.
func cutUp(t *rapid.T, text string) (pieces []string) {
	runes := []rune(text)
	for len(runes) > 0 {
		n := rapid.IntRange(1, min(len(runes), rapid.SampledFrom([]int{1, 3, 50}).Draw(t, "most"))).Draw(t, "n")
		pieces = append(pieces, string(runes[:n]))
		runes = runes[n:]
	}
	return pieces
}

// Ordinary prose in pieces is split like the whole text by Split.
func TestProseIsCutAsSplitCutsIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var prose strings.Builder
		for range rapid.IntRange(1, 40).Draw(t, "sentences") {
			prose.WriteString(rapid.SampledFrom([]string{
				"Once upon a time there was a café. ", "It was small, and nobody knew where it stood; but the coffee was good. ",
				"“Twice a year”, said Mr. Smith, “I close the doors.” ", "Why? ", "On 3.14.2026 it rained for 40 days!\n", "你好。",
				"He walked along the river until he had forgotten every recipe, ",
				"Am 3. Oktober kam, z. B. Anna, um 9. ",
			}).Draw(t, "sentence"))
		}
		text := strings.TrimSpace(prose.String())
		var want []string
		for _, segment := range speech.Split(text) {
			want = append(want, segment.Text)
		}
		require.Equal(t, want, grow(cutUp(t, text)...))
	})
}

func FuzzSegmenter(f *testing.F) {
	f.Add("Once upon a time, there was. A café", 3)
	f.Add("… — \"", 1)
	f.Add("Am 3. Oktober z. B. 4. O", 1)
	f.Add("\xff\xfe a\x00 \xf0\x9f", 2)
	f.Fuzz(func(t *testing.T, text string, step int) {
		text = strings.ToValidUTF8(text, "�")
		step = max(step%50, 1)
		var pieces []string
		runes := []rune(text)
		for at := 0; at < len(runes); at += step {
			pieces = append(pieces, string(runes[at:min(at+step, len(runes))]))
		}
		whole := grow(text)
		require.Equal(t, text, strings.Join(whole, ""))
		require.Equal(t, whole, grow(pieces...))
	})
}
