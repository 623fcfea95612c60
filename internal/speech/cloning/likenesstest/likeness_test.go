package likenesstest_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/cloning/likenesstest"
)

const rate = 16000

// vowel is a sound with a length in seconds and two formants in Hz.
type vowel struct{ first, second, seconds float64 }

func sentence() []vowel {
	return []vowel{{700, 1200, 0.2}, {300, 2200, 0.15}, {350, 800, 0.25}, {500, 1800, 0.2}, {650, 1000, 0.2}}
}

// say returns vowels in a voice: pulses of a pitch in Hz and a little breath, through two resonances and a filter that
// is duller the nearer its coefficient is to 1.
func say(pitch, dull float64, vowels ...vowel) (samples []int16) {
	random, phase := rand.New(rand.NewPCG(1, 2)), 0.0
	for _, v := range vowels {
		length, low := int(v.seconds*rate), 0.0
		tract := []resonance{newResonance(v.first), newResonance(v.second)}
		for i := range length {
			source := 0.01 * random.NormFloat64()
			if phase += pitch / rate; phase >= 1 {
				phase--
				source += 1 - phase
			}
			value := source
			for k := range tract {
				value += tract[k].next(source)
			}
			low += (1 - dull) * (value - low)
			samples = append(samples, int16(4000*low*math.Sin(math.Pi*float64(i)/float64(length))))
		}
		samples = append(samples, make([]int16, rate/20)...)
	}
	return samples
}

// resonance is a filter with two poles.
type resonance struct{ one, two, before, last float64 }

func newResonance(hertz float64) resonance {
	return resonance{one: 2 * 0.97 * math.Cos(2*math.Pi*hertz/rate), two: -0.97 * 0.97}
}

func (r *resonance) next(value float64) float64 {
	r.before, r.last = r.last, value+r.one*r.last+r.two*r.before
	return r.last
}

func one(sentences ...[]int16) likenesstest.Voice { return likenesstest.Measure(sentences, rate) }

func TestAVoiceIsAtNoDistanceFromItself(t *testing.T) {
	said := one(say(120, 0, sentence()...), say(130, 0, sentence()[:3]...))
	require.Equal(t, likenesstest.Distance{}, likenesstest.Between(said, said))
}

func TestPitchIsInSemitones(t *testing.T) {
	reference := one(say(120, 0, sentence()...))
	for _, interval := range []float64{-7, -1, 0.5, 3, 12} {
		d := likenesstest.Between(reference, one(say(120*math.Exp2(interval/12), 0, sentence()...)))
		require.InDelta(t, math.Abs(interval), d.Pitch, 0.1, "%v semitones", interval)
	}
}

// A voice that differs only in colour is farther away in spectrum and cepstra, and not in pitch.
func TestTheColourIsInSpectrumAndCepstra(t *testing.T) {
	reference, before := one(say(120, 0, sentence()...)), likenesstest.Distance{}
	for _, dull := range []float64{0.3, 0.6, 0.9} {
		d := likenesstest.Between(reference, one(say(120, dull, sentence()...)))
		require.Less(t, d.Pitch, 0.05)
		require.Greater(t, d.Spectrum, before.Spectrum+0.5, "filter %v", dull)
		require.Greater(t, d.Cepstrum, before.Cepstrum+1, "filter %v", dull)
		before = d
	}
}

// Cepstra distinguish the order of sounds; the long-term spectrum does not.
func TestCepstraAreThoseOfTheSameMoments(t *testing.T) {
	reference, other := sentence(), sentence()
	slices.Reverse(other)
	d := likenesstest.Between(one(say(120, 0, reference...)), one(say(120, 0, other...)))
	require.Less(t, d.Spectrum, 0.5)
	require.Greater(t, d.Cepstrum, 10.0)
}

func TestNeitherPaceNorLevelNorPausesCount(t *testing.T) {
	slow, quiet := sentence(), say(120, 0, sentence()...)
	for i := range slow {
		slow[i].seconds *= 1.3
	}
	for i := range quiet {
		quiet[i] /= 2
	}
	late := slices.Concat(make([]int16, rate/2), say(120, 0, sentence()...), make([]int16, rate))
	different := likenesstest.Between(one(quiet), one(say(120, 0, vowel{400, 1500, 1})))
	for name, samples := range map[string][]int16{
		"slower": say(120, 0, slow...), "quieter": quiet, "after a pause": late,
	} {
		d := likenesstest.Between(one(say(120, 0, sentence()...)), one(samples))
		require.Less(t, d.Pitch, 0.05, name)
		require.Less(t, d.Spectrum, 0.5, name)
		require.Less(t, d.Cepstrum, different.Cepstrum/4, name)
	}
}

func TestSecondsAreThoseOfSpeech(t *testing.T) {
	short, slow := sentence(), sentence()
	for i := range slow {
		slow[i].seconds *= 2
	}
	seconds := one(say(120, 0, short...)).Seconds()
	require.InDelta(t, 1, seconds, 0.15)
	require.InDelta(t, seconds, one(slices.Concat(make([]int16, rate), say(120, 0, short...),
		make([]int16, rate))).Seconds(), 0.05)
	require.InDelta(t, 2*seconds, one(say(120, 0, slow...)).Seconds(), 0.15)
	require.InDelta(t, 2*seconds, one(say(120, 0, short...), say(120, 0, short...)).Seconds(), 0.01)
}

func TestDistancesAreTheSameBothWays(t *testing.T) {
	a, b := one(say(90, 0.5, sentence()...)), one(say(210, 0, sentence()[1:]...))
	there, back := likenesstest.Between(a, b), likenesstest.Between(b, a)
	require.InDelta(t, there.Pitch, back.Pitch, 1e-9)
	require.InDelta(t, there.Spectrum, back.Spectrum, 1e-9)
	require.InDelta(t, there.Cepstrum, back.Cepstrum, 0.02*there.Cepstrum)
}

// If all sentences have one pitch, the median is known exactly; if pitches vary, it is known better the more sentences
// there are.
func TestThePitchOfFewSentencesIsByChance(t *testing.T) {
	sentences := func(count int, pitch, wander float64) likenesstest.Voice {
		var all [][]int16
		for i := range count {
			all = append(all, say(pitch*math.Exp2(wander*float64(i%3-1)/12), 0, sentence()[:1]...))
		}
		return one(all...)
	}
	pitch, deviation := likenesstest.Chance(sentences(4, 120, 0), sentences(4, 120*math.Exp2(2.0/12), 0))
	require.InDelta(t, 2, pitch, 0.1)
	require.Less(t, deviation, 0.1)

	_, few := likenesstest.Chance(sentences(6, 120, 1), sentences(6, 120, 1))
	_, many := likenesstest.Chance(sentences(30, 120, 1), sentences(30, 120, 1))
	require.Greater(t, few, 0.2)
	require.Less(t, many, few*0.8)
	_, again := likenesstest.Chance(sentences(6, 120, 1), sentences(6, 120, 1))
	require.Equal(t, few, again)
}

func TestNearerIsInAllRespects(t *testing.T) {
	far := likenesstest.Distance{Pitch: 1, Spectrum: 2, Cepstrum: 3}
	require.True(t, likenesstest.Distance{Pitch: 0.9, Spectrum: 1.9, Cepstrum: 2.9}.Nearer(far))
	for name, d := range map[string]likenesstest.Distance{
		"pitch": {Pitch: 1, Spectrum: 1, Cepstrum: 1}, "spectrum": {Pitch: 0, Spectrum: 2, Cepstrum: 1},
		"cepstra": {Pitch: 0, Spectrum: 1, Cepstrum: 3},
		"silence": likenesstest.Between(one(say(120, 0, sentence()...)), one(make([]int16, rate))),
	} {
		require.False(t, d.Nearer(far), name)
	}
}
