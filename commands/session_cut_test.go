package commands

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/speech"
)

// However the times of a part lie, its pieces are the whole of its audio and of its text, none is too long, and the times
// of each begin at 0 and fill it.
func TestPartsAreCutIntoPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const rate = 22050
		var timings []speech.Timing
		var texts string
		at := int64(0)
		for range rapid.IntRange(0, 30).Draw(t, "elements") {
			text := rapid.SampledFrom([]string{"", " ", "word", "."}).Draw(t, "text")
			length := rapid.OneOf(rapid.Int64Range(0, 400), rapid.Int64Range(0, 5000)).Draw(t, "ms")
			timings = append(timings, speech.Timing{Text: text, Start: seconds(at), Duration: seconds(length)})
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
		for _, piece := range cutTimed(pcm, timings, rate, most) {
			joined = append(joined, piece.pcm...)
			end := int64(0)
			for _, timing := range piece.timings {
				require.Equal(t, end, milliseconds(timing.Start))
				end += milliseconds(timing.Duration)
				said += timing.Text
			}
			require.Equal(t, piece.length, end)
			require.LessOrEqual(t, piece.length, most)
			require.InDelta(t, piece.length, len(piece.pcm)/2*1000/rate, 2)
			total += end
		}
		require.Equal(t, string(pcm), string(joined))
		require.Equal(t, texts, said)
		require.Equal(t, at, total)
	})
}
