package alignment_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/speech/alignment"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

const rate = 16000

// syllables returns sounds that differ like vowels: pairs of formants in Hz.
func syllables() [][2]float64 {
	return [][2]float64{{300, 2300}, {700, 1200}, {450, 900}, {550, 1800}, {350, 700}, {800, 1500}}
}

// spoken is a syllable with its length, and the silence after it, in seconds.
type spoken struct {
	sound         int
	length, pause float64
}

// say returns the sound of syllables at a pitch in Hz, after a silence, and the place of each.
func say(all []spoken, pitch, lead float64) alignment.Reference {
	r := alignment.Reference{Sound: alignment.Sound{Rate: rate, Samples: make([]int16, int(lead*rate))}}
	random, waves := rand.New(rand.NewPCG(7, 7)), map[int][]float64{}
	for _, s := range all {
		start, wave := r.Sound.Seconds(), waves[s.sound]
		if wave == nil {
			wave = waveOf(harmonicsOf(syllables()[s.sound], pitch))
			waves[s.sound] = wave
		}
		for i := range int(s.length * rate) {
			_, phase := math.Modf(pitch * float64(i) / rate)
			at := phase * wavePoints
			left, part := int(at), at-math.Floor(at)
			r.Sound.Samples = append(r.Sound.Samples, int16(4000*(wave[left]*(1-part)+wave[left+1]*part)))
		}
		r.Words = append(r.Words, alignment.Word{Text: string(rune('a' + s.sound)), Start: start, End: r.Sound.Seconds()})
		r.Sound.Samples = append(r.Sound.Samples, make([]int16, int(s.pause*rate))...)
	}
	for i := range r.Sound.Samples {
		r.Sound.Samples[i] += int16(10 * random.NormFloat64())
	}
	return r
}

const wavePoints = 1024

// waveOf returns a period of harmonics, with its first point at the end as well.
func waveOf(harmonics []float64) []float64 {
	wave := make([]float64, wavePoints+1)
	for i := range wave {
		for n, strength := range harmonics {
			wave[i] += strength * math.Sin(2*math.Pi*float64(n+1)*float64(i)/wavePoints)
		}
	}
	return wave
}

// harmonicsOf returns the strengths of the harmonics of a pitch in Hz. Those near a formant are audible.
func harmonicsOf(formants [2]float64, pitch float64) (strengths []float64) {
	for harmonic := 1.0; harmonic*pitch < 4000; harmonic++ {
		strength := 0.0
		for _, formant := range formants {
			near := (harmonic*pitch - formant) / 150
			strength += math.Exp(-near * near / 2)
		}
		strengths = append(strengths, strength)
	}
	return strengths
}

// align returns only the words.
func align(recording alignment.Sound, reference alignment.Reference) []alignment.Word {
	words, _ := alignment.Align(recording, reference)
	return words
}

func requireNear(t require.TestingT, want, got []alignment.Word, seconds float64) {
	require.Len(t, got, len(want))
	for i, w := range want {
		require.Equal(t, w.Text, got[i].Text)
		require.InDelta(t, w.Start, got[i].Start, seconds, "the start of word %d", i)
		require.InDelta(t, w.End, got[i].End, seconds, "the end of word %d", i)
	}
}

func TestASoundIsAlignedWithItself(t *testing.T) {
	reference := say([]spoken{{0, 0.3, 0}, {1, 0.2, 0.2}, {2, 0.4, 0}, {3, 0.3, 0.1}}, 120, 0.2)
	words := align(reference.Sound, reference)
	requireNear(t, reference.Words, words, 0.02)
	for _, w := range words {
		require.Greater(t, w.Confidence, 0.9)
	}
}

func TestAnotherPaceAndOtherPauses(t *testing.T) {
	reference := say([]spoken{{0, 0.3, 0.1}, {1, 0.2, 0.1}, {2, 0.4, 0}, {3, 0.3, 0.1}, {4, 0.2, 0.1}}, 120, 0.1)
	recording := say([]spoken{{0, 0.45, 1.5}, {1, 0.3, 0.1}, {2, 0.5, 0}, {3, 0.2, 0.8}, {4, 0.35, 0.7}}, 140, 0.9)
	requireNear(t, recording.Words, align(recording.Sound, reference), 0.06)
}

// Long recordings are compared coarsely first, which bounds memory and time, and are as exact.
func TestFiveMinutes(t *testing.T) {
	longtest.Only(t)
	random := rand.New(rand.NewPCG(3, 4))
	var slow, quick []spoken
	for length := 0.0; length < 290; {
		s := spoken{sound: random.IntN(6), length: 0.15 + 0.2*random.Float64(), pause: 0}
		if random.IntN(6) == 0 {
			s.pause = 0.2 + 0.3*random.Float64()
		}
		slow = append(slow, s)
		length += s.length + s.pause
		s.length *= 0.8 + 0.1*random.Float64()
		s.pause *= 0.5
		quick = append(quick, s)
	}
	recording, reference := say(slow, 130, 0.5), say(quick, 120, 0.1)
	near := 0
	words := align(recording.Sound, reference)
	require.Len(t, words, len(recording.Words))
	for i, w := range words {
		if math.Abs(w.Start-recording.Words[i].Start) < 0.06 {
			near++
		}
	}
	require.Greater(t, near, len(words)*9/10, "of %d words", len(words))
}

func TestPhonemesAreWithinTheirWords(t *testing.T) {
	reference := say([]spoken{{0, 0.3, 0.1}, {1, 0.4, 0.1}}, 120, 0.1)
	reference.Words[0].Phonemes = []alignment.Phoneme{
		{Name: "a", Start: 0.1, End: 0.25}, {Name: "b", Start: 0.25, End: 0.4},
	}
	recording := say([]spoken{{0, 0.4, 0.1}, {1, 0.3, 0.1}}, 130, 0.3)
	words := align(recording.Sound, reference)
	require.Len(t, words[0].Phonemes, 2)
	require.Equal(t, words[0].Start, words[0].Phonemes[0].Start)
	require.Equal(t, words[0].End, words[0].Phonemes[1].End)
	require.InDelta(t, 0.5, words[0].Phonemes[1].Start, 0.08)
}

// For any sounds, each word has a place, in order and within the recording.
func TestAnySoundsGiveWordsInOrder(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		lengths := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) spoken {
			return spoken{
				rapid.IntRange(0, 5).Draw(r, "sound"), rapid.Float64Range(0, 0.3).Draw(r, "length"),
				rapid.Float64Range(0, 0.3).Draw(r, "pause"),
			}
		}), 1, 6)
		reference := say(lengths.Draw(r, "reference"), 120, 0.05)
		recording := say(lengths.Draw(r, "recording"), rapid.Float64Range(60, 400).Draw(r, "pitch"), 0)
		words := align(recording.Sound, reference)
		now := 0.0
		for _, w := range words {
			require.GreaterOrEqual(r, w.Start, now)
			require.GreaterOrEqual(r, w.End, w.Start)
			require.LessOrEqual(r, w.End, recording.Sound.Seconds())
			require.True(r, w.Confidence >= 0 && w.Confidence <= 1, "%v", w.Confidence)
			now = w.End
		}
	})
}

func TestPaceAndSpeech(t *testing.T) {
	slow, quick := say([]spoken{{0, 0.6, 0.5}, {1, 0.6, 0.5}}, 120, 0.5),
		say([]spoken{{0, 0.4, 0.5}, {1, 0.4, 0.5}}, 120, 0.5)
	require.InDelta(t, 1.5, alignment.Pace(slow.Sound, quick.Sound), 0.15)
	require.True(t, alignment.HasSpeech(slow.Sound))
	for _, silence := range []int{0, 10, rate} {
		require.False(t, alignment.HasSpeech(alignment.Sound{Rate: rate, Samples: make([]int16, silence)}))
		require.Nil(t, align(alignment.Sound{Rate: rate, Samples: make([]int16, min(silence, 10))}, quick))
	}
}

// Unlike recordings of people, a rendering begins with its first word, and each of its words lasts until the next one.
func TestSilenceBelongsToNoWord(t *testing.T) {
	all := []spoken{{0, 0.3, 0}, {1, 0.3, 0.3}, {2, 0.4, 0}, {3, 0.3, 0.4}}
	reference := say(all, 120, 0)
	reference.Words[1].End = reference.Words[2].Start
	reference.Words[3].End = reference.Sound.Seconds()
	all[1].pause, all[3].pause = 0.8, 1
	recording := say(all, 140, 0.9)
	requireNear(t, recording.Words, align(recording.Sound, reference), 0.06)
}
