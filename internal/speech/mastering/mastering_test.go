package mastering_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/speech/mastering"
)

const (
	rate = 22050
	// loudest is the highest sample that a chain returns: 1.5 dB below full scale.
	loudest = 27571
)

func encode(samples []float64) []byte {
	var pcm []byte
	for _, sample := range samples {
		pcm = binary.LittleEndian.AppendUint16(pcm, uint16(int16(math.Round(sample))))
	}
	return pcm
}

func decode(pcm []byte) []float64 {
	var samples []float64
	for ; len(pcm) > 0; pcm = pcm[2:] {
		samples = append(samples, float64(int16(binary.LittleEndian.Uint16(pcm))))
	}
	return samples
}

func tone(hertz, amplitude float64, samples int) []float64 {
	out := make([]float64, samples)
	for i := range out {
		out[i] = amplitude * math.Sin(2*math.Pi*hertz*float64(i)/rate)
	}
	return out
}

func noise(amplitude float64, samples int) []float64 {
	random := rand.New(rand.NewPCG(1, 2))
	out := make([]float64, samples)
	for i := range out {
		out[i] = amplitude * (2*random.Float64() - 1)
	}
	return out
}

func peak(samples []float64) (highest float64) {
	for _, sample := range samples {
		highest = max(highest, math.Abs(sample))
	}
	return highest
}

// power returns the power of samples in decibels.
func power(samples []float64) float64 {
	sum := 0.0
	for _, sample := range samples {
		sum += sample * sample
	}
	return 10 * math.Log10(sum/float64(len(samples)))
}

func master(settings mastering.Settings, samples []float64) []float64 {
	chain := mastering.New(rate, settings)
	return decode(append(chain.Process(encode(samples)), chain.Flush()...))
}

func boosts(of func(hertz float64) float64) []float64 {
	var out []float64
	for _, hertz := range mastering.Bands() {
		out = append(out, of(hertz))
	}
	return out
}

func TestWhatIsNotTooLoudIsOnlyAmplified(t *testing.T) {
	speech := noise(5000, rate)
	require.Equal(t, encode(speech), encode(master(mastering.Settings{}, speech)), "the zero value changes nothing")
	for _, gain := range []float64{-12, -0.3, 6, 12} {
		got, factor := master(mastering.Settings{Gain: gain}, speech), math.Pow(10, gain/20)
		require.Len(t, got, len(speech))
		for i, sample := range decode(encode(speech)) {
			require.InDelta(t, factor*sample, got[i], 0.51)
		}
	}
}

// anySettings draws settings of all kinds.
func anySettings(t *rapid.T) mastering.Settings {
	settings := mastering.Settings{Gain: rapid.Float64Range(-mastering.MaxGain, mastering.MaxGain).Draw(t, "gain")}
	if rapid.Bool().Draw(t, "equalised") {
		boost := rapid.Float64Range(-mastering.MaxBoost, mastering.MaxBoost)
		settings.Equaliser = rapid.SliceOfN(boost, mastering.BandCount, mastering.BandCount).Draw(t, "equaliser")
	}
	return settings
}

// anySound draws silence, noise and tones of all amplitudes, one after the other.
func anySound(t *rapid.T) []float64 {
	var samples []float64
	for range rapid.IntRange(0, 6).Draw(t, "sounds") {
		length := rapid.IntRange(0, 1500).Draw(t, "length")
		amplitude := rapid.SampledFrom([]float64{0, 1, 100, 10000, 32767}).Draw(t, "amplitude")
		if rapid.Bool().Draw(t, "tone") {
			samples = append(samples, tone(rapid.Float64Range(20, 11000).Draw(t, "frequency"), amplitude, length)...)
			continue
		}
		samples = append(samples, noise(amplitude, length)...)
	}
	return samples
}

func TestNoSampleIsLostOrClippedHoweverTheInputIsCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		settings, input := anySettings(t), encode(anySound(t))
		require.True(t, settings.Valid())
		whole := mastering.New(rate, settings)
		want := append(whole.Process(input), whole.Flush()...)
		require.Len(t, want, len(input))
		require.LessOrEqual(t, peak(decode(want)), float64(loudest))

		pieces := mastering.New(rate, settings)
		var got []byte
		for rest := input; len(rest) > 0; {
			n := min(2*rapid.IntRange(1, 2000).Draw(t, "piece"), len(rest))
			got = append(got, pieces.Process(rest[:n])...)
			rest = rest[n:]
		}
		require.True(t, bytes.Equal(want, append(got, pieces.Flush()...)))
		again := append(pieces.Process(input), pieces.Flush()...)
		require.True(t, bytes.Equal(want, again), "an utterance does not depend on the one before")
	})
}

// The gain falls before a peak and recovers after it, and changes little between neighbouring samples: there are no
// clicks.
func TestTheLimiterLooksAhead(t *testing.T) {
	quiet := tone(500, 8000, rate/2)
	input := append(append(append([]float64{}, quiet...), tone(500, 30000, 50)...), quiet...)
	got := master(mastering.Settings{Gain: 6}, input)
	require.InDelta(t, loudest, peak(got), 30, "no more is taken away than has to be")

	gain := func(i int) float64 { return got[i] / input[i] }
	before, after := len(quiet), len(quiet)+50
	require.InDelta(t, 2, gain(before-300), 0.01, "unchanged until shortly before")
	lowest := math.Inf(1)
	for i := before - 250; i < before-10; i++ {
		if math.Abs(input[i]) < 4000 {
			continue
		}
		lowest = min(lowest, gain(i))
	}
	require.Less(t, lowest, 1.3, "lower before the peak comes")
	require.InDelta(t, 2, gain(after+rate/2-100), 0.05, "recovered")
	last := -1
	for i := range input {
		if math.Abs(input[i]) < 4000 {
			continue
		}
		if last == i-1 {
			require.InDelta(t, gain(last), gain(i), 0.03, "sample %d", i)
		}
		last = i
	}
}

func TestTheEqualiserHasTheResponseOfItsBands(t *testing.T) {
	responses := map[string]func(hertz float64) float64{
		"flat":    func(float64) float64 { return -4 },
		"rising":  func(hertz float64) float64 { return -10 + 20*math.Log10(1+hertz/700)/math.Log10(15) },
		"a hill":  func(hertz float64) float64 { return 8 * math.Exp(-math.Pow((hertz-2000)/1200, 2)) },
		"a notch": func(hertz float64) float64 { return -12 * math.Exp(-math.Pow((hertz-3000)/1500, 2)) },
	}
	for name, response := range responses {
		settings := mastering.Settings{Equaliser: boosts(response)}
		for _, hertz := range []float64{250, 500, 1000, 2000, 3000, 4500, 7000, 9000} {
			input := tone(hertz, 5000, rate)
			got := master(settings, input)
			require.InDelta(t, response(hertz), power(got[2000:20000])-power(input[2000:20000]), 0.7, "%s at %v Hz", name, hertz)
		}
	}
}

// A minimum-phase filter adds no delay: word times remain valid.
func TestTheEqualiserDelaysNothing(t *testing.T) {
	click := make([]float64, 3000)
	click[1000] = 10000
	got := master(mastering.Settings{Equaliser: boosts(func(hertz float64) float64 { return 12 * math.Sin(hertz/900) })},
		click)
	early, all := 0.0, 0.0
	for i, sample := range got {
		all += sample * sample
		if i >= 1000 && i < 1000+rate/1000 {
			early += sample * sample
		}
		if i < 1000 {
			require.Zero(t, sample, "nothing comes before its cause")
		}
	}
	require.Greater(t, early/all, 0.9, "within a millisecond")
}

func TestSettingsOutOfRange(t *testing.T) {
	flat := func(bands int) []float64 { return make([]float64, bands) }
	loud := flat(mastering.BandCount)
	loud[3] = 31
	undefined := flat(mastering.BandCount)
	undefined[0] = math.NaN()
	for name, settings := range map[string]mastering.Settings{
		"a high gain": {Gain: 41}, "a low gain": {Gain: -41}, "no number": {Gain: math.NaN()},
		"few bands": {Equaliser: flat(3)}, "many bands": {Equaliser: flat(33)}, "a loud band": {Equaliser: loud},
		"a band that is no number": {Equaliser: undefined},
	} {
		require.False(t, settings.Valid(), name)
	}
	require.True(t, mastering.Settings{Gain: -40, Equaliser: flat(mastering.BandCount)}.Valid())
}

// BenchmarkChain measures the time for mastering a second of audio, with and without the equaliser.
func BenchmarkChain(b *testing.B) {
	second := encode(noise(20000, rate))
	for name, settings := range map[string]mastering.Settings{
		"limiter": {Gain: 3}, "equaliser": {Gain: 3, Equaliser: boosts(func(hertz float64) float64 { return hertz / 2000 })},
	} {
		b.Run(name, func(b *testing.B) {
			chain := mastering.New(rate, settings)
			b.ReportAllocs()
			for b.Loop() {
				chain.Process(second)
				chain.Flush()
			}
		})
	}
}
