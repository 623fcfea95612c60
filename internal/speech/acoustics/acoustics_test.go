package acoustics_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/acoustics"
	"github.com/recital-tts/recital/internal/speech/acoustics/acousticstest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

const rate = 16000

// say returns vowels of 0.25 s with pauses of 0.1 s between two silences: harmonics of a pitch in Hz through three
// resonances.
func say(rate, vowels int, pitch, silence float64) []float64 {
	pause := make([]float64, int(silence*float64(rate)))
	samples := append([]float64(nil), pause...)
	vowel := vowel(rate, pitch)
	for range vowels {
		samples = append(samples, vowel...)
		samples = append(samples, make([]float64, int(0.1*float64(rate)))...)
	}
	return append(samples, pause...)
}

func vowel(rate int, pitch float64) []float64 {
	samples := make([]float64, int(0.25*float64(rate)))
	for i := range samples {
		at, value := float64(i)/float64(rate), 0.0
		for h := 1.0; h*pitch < min(4500, float64(rate)/2); h++ {
			gain := 1 / h
			for _, formant := range [][2]float64{{500, 80}, {1500, 100}, {2500, 120}} {
				near := (h*pitch - formant[0]) / formant[1]
				gain += 4 / h / (1 + near*near) * formant[0] / 500
			}
			value += gain * math.Sin(2*math.Pi*h*pitch*at+h*h)
		}
		samples[i] = 1000 * value * math.Sin(math.Pi*float64(i)/float64(len(samples)))
	}
	return samples
}

// with returns samples with white noise of a level in dB of full scale.
func with(samples []float64, level float64) []int16 {
	random := rand.New(rand.NewPCG(1, 2))
	noise := 32768 * math.Pow(10, level/20)
	out := make([]int16, len(samples))
	for i, s := range samples {
		out[i] = int16(min(max(math.Round(s+noise*random.NormFloat64()), math.MinInt16), math.MaxInt16))
	}
	return out
}

func pcm(samples []int16) []byte {
	var out []byte
	for _, s := range samples {
		out = binary.LittleEndian.AppendUint16(out, uint16(s))
	}
	return out
}

func TestAVoiceIsDescribed(t *testing.T) {
	for _, rate := range []int{8000, 16000, 22050, 48000} {
		report, voice := acousticstest.Analyse(with(say(rate, 20, 130, 1), -70), acoustics.Config{Rate: rate})
		require.InDelta(t, 9, report.Seconds, 0.01)
		require.InDelta(t, 1, report.Start, 0.06)
		require.InDelta(t, 7.9, report.End, 0.06)
		// counting only power below 8 kHz
		require.InDelta(t, -70-10*math.Log10(max(float64(rate)/16000, 1)), report.Noise, 2, "at %d Hz", rate)
		require.InDelta(t, 130, voice.PitchQuantile(0.5), 1)
		require.InDelta(t, 500, voice.Formant(0), 60, "at %d Hz", rate)
		require.InDelta(t, 1500, voice.Formant(1), 120)
		require.InDelta(t, 2500, voice.Formant(2), 150)
		require.InDelta(t, 20, voice.Syllables, 1)
		require.Zero(t, report.Dropped)
	}
}

// Within a vowel the level of a voice varies, most of all where it creaks or rolls an r. That does not add a syllable.
func TestATremblingVoiceHasNoMoreSyllables(t *testing.T) {
	for _, tremor := range []float64{11, 14, 18, 25} {
		samples := say(rate, 20, 130, 1)
		for i := range samples {
			samples[i] *= 1 - 0.25*(1+math.Sin(2*math.Pi*tremor*float64(i)/rate)) // 6 dB
		}
		_, voice := acousticstest.Analyse(with(samples, -70), acoustics.Config{Rate: rate})
		require.InDelta(t, 20, voice.Syllables, 1, "a tremor of %v Hz", tremor)
	}
}

// A recording longer than a block has the same result, however it is cut.
func TestTheSameWhereverItIsCut(t *testing.T) {
	longtest.Only(t)
	samples := with(say(rate, 130, 110, 2), -50)
	config := acoustics.Config{Rate: rate, Enhance: true, Filter: true}
	report, voice := acousticstest.Analyse(samples, config)
	require.Greater(t, report.Seconds, 45.0)
	for _, piece := range []int{1001, 64_000, 3_000_001} {
		a := acoustics.New(config)
		for part := range slices.Chunk(pcm(samples), piece) {
			n, err := a.Write(part)
			require.NoError(t, err)
			require.Len(t, part, n)
		}
		again, same := a.Finish()
		require.Equal(t, report, again, "in pieces of %d bytes", piece)
		require.Equal(t, voice, same)
	}
}

func TestNoiseIsNoSpeech(t *testing.T) {
	for _, level := range []float64{-math.MaxFloat64, -80, -50, -20} {
		report, voice := acousticstest.Analyse(with(make([]float64, 30*rate), level),
			acoustics.Config{Rate: rate, Enhance: true, Filter: true})
		require.Zero(t, report.Speech, "of noise at %v dB", level)
		require.Zero(t, report.Start+report.End)
		require.Zero(t, voice.Pace()+voice.PitchQuantile(0.5)+voice.Formant(0)+voice.Harmonicity())
		require.InDelta(t, max(level, -100), report.Noise, 1)
	}
}

func TestEnhanceTakesSteadyNoiseOut(t *testing.T) {
	clean, noisy := with(say(rate, 20, 130, 1), -80), with(say(rate, 20, 130, 1), -42)
	_, wanted := acousticstest.Analyse(clean, acoustics.Config{Rate: rate})
	before, plain := acousticstest.Analyse(noisy, acoustics.Config{Rate: rate})
	after, enhanced := acousticstest.Analyse(noisy, acoustics.Config{Rate: rate, Enhance: true})
	require.InDelta(t, -42, after.Noise, 1)
	require.InDelta(t, before.Noise, before.NoiseAfter, 0.5)
	require.Less(t, after.NoiseAfter, after.Noise-10)
	require.Greater(t, after.SNR, before.SNR+8)
	require.InDelta(t, wanted.PitchQuantile(0.5), enhanced.PitchQuantile(0.5), 1)
	require.Less(t, difference(wanted, enhanced), difference(wanted, plain)+0.5)
}

// difference returns the difference between two voices' spectra in dB, in the bands of the vowels of say.
func difference(a, b acoustics.Statistics) (sum float64) {
	x, y := a.LongTermSpectrum(), b.LongTermSpectrum()
	for band := range acoustics.Bands {
		if acoustics.BandHertz(band) < 3000 {
			sum += math.Abs(x[band]-y[band]) / acoustics.Bands
		}
	}
	return sum
}

func TestFilterDropsWhatIsNoUse(t *testing.T) {
	good, bad := say(rate, 20, 130, 1), say(rate, 10, 200, 1)
	for i := range bad {
		bad[i] *= 20 // clipped
	}
	recording := with(append(good, bad...), -70)
	all, both := acousticstest.Analyse(recording, acoustics.Config{Rate: rate})
	filtered, one := acousticstest.Analyse(recording, acoustics.Config{Rate: rate, Filter: true})
	require.Zero(t, all.Dropped)
	require.Greater(t, all.Clipped, 0.02)
	require.InDelta(t, 3.5, filtered.Dropped, 1)
	require.InDelta(t, filtered.Speech, one.Speech+filtered.Dropped, 0.02)
	require.Greater(t, both.PitchQuantile(0.95), 190.0)
	require.InDelta(t, 130, one.PitchQuantile(0.95), 3)
}

// The memory of an Analyser does not grow with the recording.
func TestMemoryIsBounded(t *testing.T) {
	piece := pcm(with(say(rate, 50, 130, 0.5), -60))
	a := acoustics.New(acoustics.Config{Rate: rate, Enhance: true})
	kept := func() float64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return float64(stats.HeapAlloc)
	}
	_, err := a.Write(bytes.Repeat(piece, 2))
	require.NoError(t, err)
	before := kept()
	for range 6 {
		_, err := a.Write(piece)
		require.NoError(t, err)
	}
	// A block; the samples would be some 4 MiB, their spectra ten times that.
	require.Less(t, kept()-before, float64(4<<20))
	report, _ := a.Finish()
	require.Greater(t, report.Seconds, 140.0)
}

// Any samples are measured, and the figures are numbers.
func TestAnyBytesAreMeasured(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	for _, size := range []int{0, 1, 2, 3, 319, 321, 5001, 100_003} {
		noise := make([]byte, size)
		for i := range noise {
			noise[i] = byte(random.Uint32())
		}
		a := acoustics.New(acoustics.Config{Rate: rate, Enhance: true, Filter: true})
		_, err := a.Write(noise)
		require.NoError(t, err)
		report, voice := a.Finish()
		encoded, err := json.Marshal([]any{report, voice})
		require.NoError(t, err, "a figure is no number")
		require.Less(t, len(encoded), 64<<10)
	}
}

// A loud half of a recording decides its long-term spectrum; the mean levels are between those of both halves.
func TestMeanLevelsAreThoseOfAllMoments(t *testing.T) {
	describe := func(samples ...[]float64) acoustics.Statistics {
		_, voice := acousticstest.Analyse(with(slices.Concat(samples...), -90), acoustics.Config{Rate: rate})
		return voice
	}
	loud, quiet := say(rate, 20, 130, 0.5), say(rate, 20, 130, 0.5)
	for i := range quiet {
		quiet[i] /= 4
	}
	all, above, below := describe(loud, quiet), describe(loud), describe(quiet)
	for band := 4; band < 20; band++ { // bands without noise
		difference := above.MeanLevels()[band] - below.MeanLevels()[band]
		require.InDelta(t, 12, difference, 3, "band %d", band)
		require.InDelta(t, below.MeanLevels()[band]+difference/2, all.MeanLevels()[band], 1.5, "band %d", band)
		require.InDelta(t, above.LongTermSpectrum()[band], all.LongTermSpectrum()[band], 0.5, "band %d", band)
	}
}
