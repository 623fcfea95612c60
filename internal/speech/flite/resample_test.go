package flite

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func tone(hertz, rate float64, samples int) []float64 {
	out := make([]float64, samples)
	for i := range out {
		out[i] = 10000 * math.Sin(2*math.Pi*hertz*float64(i)/rate)
	}
	return out
}

func TestATonesSamplesAreWhereTheyWouldBeAtTheOtherRate(t *testing.T) {
	for _, hertz := range []float64{100, 1000, 4000, 6500} {
		r := newResampler(16000)
		got := append(r.add(tone(hertz, 16000, 16000)), r.finish()...)
		want := tone(hertz, outputRate, outputRate)
		require.InDelta(t, len(want), len(got), 2)
		for i := 100; i < len(want)-100; i++ {
			require.InDelta(t, want[i], got[i], 150, "%v Hz, sample %d", hertz, i)
		}
	}
}

func TestHowTheInputIsCutDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		input := tone(440, 16000, rapid.IntRange(0, 3000).Draw(t, "samples"))
		whole := newResampler(16000)
		want := append(whole.add(input), whole.finish()...)
		pieces := newResampler(16000)
		var got []float64
		for rest := input; len(rest) > 0; {
			n := min(rapid.IntRange(1, 700).Draw(t, "piece"), len(rest))
			got = append(got, pieces.add(rest[:n])...)
			rest = rest[n:]
		}
		got = append(got, pieces.finish()...)
		require.Equal(t, want, got)
	})
}
