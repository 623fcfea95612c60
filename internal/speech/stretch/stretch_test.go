package stretch_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/speech/stretch"
)

const rate = 22050

func tone(hertz float64, samples int) []byte {
	var pcm []byte
	for i := range samples {
		value := int16(10000 * math.Sin(2*math.Pi*hertz*float64(i)/rate))
		pcm = binary.LittleEndian.AppendUint16(pcm, uint16(value))
	}
	return pcm
}

func crossings(pcm []byte) (n int) {
	for i := 2; i+2 <= len(pcm); i += 2 {
		before, now := int16(binary.LittleEndian.Uint16(pcm[i-2:])), int16(binary.LittleEndian.Uint16(pcm[i:]))
		if before < 0 && now >= 0 {
			n++
		}
	}
	return n
}

func TestAToneKeepsItsPitchAndLoudness(t *testing.T) {
	for _, factor := range []float64{0.4, 0.66, 0.9, 1, 1.1, 1.5, 1.83, 2.5} {
		s := stretch.New(rate, factor)
		out := s.Stretch(tone(200, rate))
		out = append(out, s.Finish()...)

		require.Len(t, out, 2*int(rate*factor))
		require.InEpsilon(t, 200*factor, crossings(out), 0.03)
		var power float64
		for i := 0; i < len(out); i += 2 {
			value := float64(int16(binary.LittleEndian.Uint16(out[i:])))
			power += value * value
		}
		require.InEpsilon(t, 10000/math.Sqrt2, math.Sqrt(power/float64(len(out)/2)), 0.05)
	}
}

func TestTheLengthIsExactAndHowTheInputIsCutDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		factor := rapid.Float64Range(0.3, 3).Draw(t, "factor")
		input := tone(150, rapid.IntRange(0, 20000).Draw(t, "samples"))
		whole := stretch.New(rate, factor)
		want := append(whole.Stretch(input), whole.Finish()...)
		require.Len(t, want, 2*whole.Scale(len(input)/2))

		pieces := stretch.New(rate, factor)
		var got []byte
		for rest := input; len(rest) > 0; {
			n := min(2*rapid.IntRange(1, 5000).Draw(t, "piece"), len(rest))
			got = append(got, pieces.Stretch(rest[:n])...)
			rest = rest[n:]
		}
		got = append(got, pieces.Finish()...)
		require.True(t, bytes.Equal(want, got))
	})
}
