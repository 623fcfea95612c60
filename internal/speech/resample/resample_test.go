package resample_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/speech/resample"
)

const outputRate = 22050

func tone(hertz, rate float64, samples int) []float64 {
	out := make([]float64, samples)
	for i := range out {
		out[i] = 10000 * math.Sin(2*math.Pi*hertz*float64(i)/rate)
	}
	return out
}

func TestATonesSamplesAreWhereTheyWouldBeAtTheOtherRate(t *testing.T) {
	for _, hertz := range []float64{100, 1000, 4000, 6500} {
		r := resample.New(16000, outputRate)
		got := append(r.Add(tone(hertz, 16000, 16000)), r.Finish()...)
		want := tone(hertz, outputRate, outputRate)
		require.InDelta(t, len(want), len(got), 2)
		for i := 100; i < len(want)-100; i++ {
			require.InDelta(t, want[i], got[i], 150, "%v Hz, sample %d", hertz, i)
		}
	}
}

func TestALowerRateHasNoImages(t *testing.T) {
	for hertz, level := range map[float64]float64{1000: 10000, 9000: 10000, 11900: 0} {
		r := resample.New(24000, outputRate)
		got := append(r.Add(tone(hertz, 24000, 24000)), r.Finish()...)
		require.Len(t, got, outputRate)
		var energy float64
		for _, v := range got[1000:21000] {
			energy += v * v / 20000
		}
		require.InDelta(t, level, math.Sqrt(2*energy), 2500, "%v Hz", hertz)
	}
}

func TestHowTheInputIsCutDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		input := tone(440, 16000, rapid.IntRange(0, 3000).Draw(t, "samples"))
		whole := resample.New(16000, outputRate)
		want := append(whole.Add(input), whole.Finish()...)
		pieces := resample.New(16000, outputRate)
		var got []float64
		for rest := input; len(rest) > 0; {
			n := min(rapid.IntRange(1, 700).Draw(t, "piece"), len(rest))
			got = append(got, pieces.Add(rest[:n])...)
			rest = rest[n:]
		}
		got = append(got, pieces.Finish()...)
		require.Equal(t, want, got)
	})
}
