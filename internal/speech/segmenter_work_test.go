package speech_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// An unspeakable text costs about as much as a speakable one, in any pieces. The work is measured in allocated bytes.
func TestUnspeakableTextIsNoExtraWork(t *testing.T) {
	const length = 4000
	for name, piece := range map[string]int{"at once": length, "in tiny pieces": 1} {
		t.Run(name, func(t *testing.T) {
			spoken := segmenting(strings.Repeat("a word, ", length/8), piece)
			for _, symbols := range []string{"! ", "!\n", ", ", ". . ", "\n", "。"} {
				unspoken := segmenting(strings.Repeat(symbols, length/len(symbols)), piece)
				require.Less(t, unspoken/spoken, 10.0, "%q", symbols)
			}
		})
	}
}

func segmenting(text string, piece int) (bytes float64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	segmentInPieces(text, piece)
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc - before.TotalAlloc)
}

// segmentInPieces segments a text that arrives byte by byte.
func segmentInPieces(text string, piece int) (segments int) {
	var s speech.Segmenter
	for from := 0; from < len(text); from += piece {
		s.Add(text[from:min(from+piece, len(text))])
		for _, ok := s.Next(); ok; _, ok = s.Next() {
			segments++
		}
	}
	for _, ok := s.Flush(); ok; _, ok = s.Flush() {
		segments++
	}
	return segments
}

// BenchmarkTinyPieces compares words with exclamation marks that arrive character by character.
func BenchmarkTinyPieces(b *testing.B) {
	const length = 4000
	var words, marks int64
	for b.Loop() {
		words += timed(func() { segmentInPieces(strings.Repeat("a word, ", length/8), 1) })
		marks += timed(func() { segmentInPieces(strings.Repeat("! ", length/2), 1) })
	}
	each := float64(b.N * length)
	benchtest.Compare(b, "ns/piece", float64(marks)/each, float64(words)/each)
	benchtest.Finish(b)
}

func timed(run func()) int64 {
	began := time.Now()
	run()
	return time.Since(began).Nanoseconds()
}
