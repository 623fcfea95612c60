package speech

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// For any times of a part, its passages have all of its audio and text, none is too long, and the times of each begin
// at 0 and cover it.
func TestPartsAreCutIntoPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const rate = 22050
		var timings []Timing
		var texts string
		at := int64(0)
		for range rapid.IntRange(0, 30).Draw(t, "elements") {
			text := rapid.SampledFrom([]string{"", " ", "word", "."}).Draw(t, "text")
			length := rapid.OneOf(rapid.Int64Range(0, 400), rapid.Int64Range(0, 5000)).Draw(t, "ms")
			timings = append(timings, Timing{Text: text, Start: toSeconds(at), Duration: toSeconds(length)})
			texts += text
			at += length
		}
		pcm := make([]byte, 2*(at*rate/1000+rapid.Int64Range(0, rate/1000).Draw(t, "rest")))
		for i := range pcm {
			pcm[i] = byte(i * 7)
		}
		most := rapid.Int64Range(20, 2000).Draw(t, "most")

		var joined []byte
		var said string
		total := int64(0)
		for _, piece := range CutPassages(pcm, timings, rate, most) {
			joined = append(joined, piece.PCM...)
			end := int64(0)
			for _, timing := range piece.Timings {
				require.Equal(t, end, toMilliseconds(timing.Start))
				end += toMilliseconds(timing.Duration)
				said += timing.Text
			}
			require.Equal(t, piece.Length, end)
			require.LessOrEqual(t, piece.Length, most)
			require.InDelta(t, piece.Length, len(piece.PCM)/2*1000/rate, 2)
			total += end
		}
		require.Equal(t, string(pcm), string(joined))
		require.Equal(t, texts, said)
		require.Equal(t, at, total)
	})
}
