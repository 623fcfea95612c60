package speech

import (
	"fmt"
	"math"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const passage = "The sun was low, and nobody spoke. Then, at last, a bell rang; doors opened! Who was there? No one " +
	"knew."

func phrasesFor(p Prosody, model string, seed int64) []Phrase {
	return newManner(p, model).phrasesOf(passage, seed)
}

// spread returns the mean distance of the phrases from the voice's own way.
func spread(phrases []Phrase) float64 {
	sum := 0.0
	for _, p := range phrases {
		sum += math.Abs(p.Pitch) + math.Abs(p.Gain) + math.Abs(math.Log(p.Rate)) + math.Abs(math.Log(max(p.Range, 0.01)))
	}
	return sum / float64(len(phrases))
}

// meanSpread returns the mean over many seeds.
func meanSpread(p Prosody, model string) float64 {
	sum := 0.0
	for seed := range int64(200) {
		sum += spread(phrasesFor(p, model, seed))
	}
	return sum / 200
}

func TestWithoutParametersAVoiceSpeaksInItsOwnWay(t *testing.T) {
	for _, model := range []string{"", ModelAurora, ModelBlizzard, ModelBlizzard21} {
		require.Nil(t, phrasesFor(Prosody{}, model, 7), model)
	}
	require.Nil(t, phrasesFor(Prosody{Expressive: new(1.0)}, ModelAurora, 7))
}

func TestEachParameterHasItsEffect(t *testing.T) {
	varied := Prosody{Temperature: new(1.0)}
	t.Run("temperature", func(t *testing.T) {
		last := -1.0
		for _, temperature := range []float64{0.0001, 0.2, 1, 5} {
			now := meanSpread(Prosody{Temperature: &temperature}, "")
			require.Greater(t, now, last, temperature)
			last = now
		}
		for _, p := range phrasesFor(Prosody{Temperature: new(0.0001)}, "", 1) {
			require.Zero(t, p.Pitch)
			require.Equal(t, 1.0, p.Rate)
		}
	})
	t.Run("top_p", func(t *testing.T) {
		last := -1.0
		for _, topP := range []float64{0, 0.4, 0.8, 1} {
			now := meanSpread(Prosody{TopP: &topP}, "")
			require.Greater(t, now, last, topP)
			last = now
		}
		require.Equal(t, meanSpread(varied, ""), meanSpread(Prosody{TopP: new(0.8)}, ""), "0.8 is the default")
	})
	t.Run("top_k", func(t *testing.T) {
		last := -1.0
		for _, topK := range []int{1, 3, 7} {
			now := meanSpread(Prosody{TopK: &topK, TopP: new(1.0)}, "")
			require.Greater(t, now, last, topK)
			last = now
		}
		require.Zero(t, meanSpread(Prosody{TopK: new(1)}, ""), "the likeliest alone")
		require.Equal(t, meanSpread(varied, ""), meanSpread(Prosody{TopK: new(0)}, ""), "0 is no limit")
		require.Equal(t, meanSpread(varied, ""), meanSpread(Prosody{TopK: new(1_000_000)}, ""))
	})
	t.Run("expressive", func(t *testing.T) {
		for expressive, want := range map[float64]float64{0: 0, 0.5: 0.5, 1.5: 1.5, 2: 2, 77: 2, -1: 0} {
			phrases := phrasesFor(Prosody{Expressive: &expressive}, "", 1)
			require.Equal(t, []Phrase{{Runes: len(passage), Range: want, Rate: 1, Pause: OwnPause}}, phrases)
		}
		require.Less(t, meanSpread(Prosody{Temperature: new(1.0), Expressive: new(1.0)}, ""),
			meanSpread(Prosody{Temperature: new(1.0), Expressive: new(2.0)}, ""))
	})
	t.Run("quality", func(t *testing.T) {
		for quality, phrases := range map[int]int{-3: 1, 0: 1, 1: 4, 2: 8, 9: 8} {
			require.Len(t, phrasesFor(Prosody{Quality: &quality}, "", 1), phrases, "quality %d", quality)
		}
	})
	t.Run("solver", func(t *testing.T) {
		step := func(solver string) float64 { // between neighbours
			sum := 0.0
			for seed := range int64(200) {
				phrases := phrasesFor(Prosody{Solver: solver}, "", seed)
				for i := range phrases[1:] {
					sum += math.Abs(phrases[i+1].Pitch - phrases[i].Pitch)
				}
			}
			return sum
		}
		require.Less(t, step("midpoint"), step("euler"))
		require.Less(t, step("rk4"), step("midpoint"))
		require.Equal(t, step("euler"), step("anything"))
	})
	t.Run("conversational", func(t *testing.T) {
		plain, talk := phrasesFor(varied, "", 5), phrasesFor(Prosody{Conversational: true}, "", 5)
		require.Len(t, talk, len(plain))
		for i := range talk {
			require.Equal(t, plain[i].Pitch, talk[i].Pitch, "the same draws")
			require.Greater(t, talk[i].Range, plain[i].Range)
			require.Greater(t, talk[i].Rate, plain[i].Rate)
			require.Less(t, talk[i].Pauses, plain[i].Pauses)
		}
	})
	t.Run("model", func(t *testing.T) {
		require.Equal(t, phrasesFor(Prosody{Conversational: true}, "", 5), phrasesFor(Prosody{}, ModelBlizzardDialogue, 5))
		require.Equal(t, []Phrase{{Runes: len(passage), Range: calmRange, Rate: calmRate, Pause: OwnPause}},
			phrasesFor(Prosody{}, ModelBlizzard20, 5))
	})
	t.Run("seed", func(t *testing.T) {
		require.Equal(t, phrasesFor(varied, "", 5), phrasesFor(varied, "", 5))
		seen := map[string]bool{}
		for seed := range int64(50) {
			seen[fmt.Sprint(phrasesFor(varied, "", seed))] = true
		}
		require.Len(t, seen, 50)
	})
}

// The values of a seed must never change: clients store seeds to get the same audio again.
func TestASeedsDrawsStayWhatTheyAre(t *testing.T) {
	got := newManner(Prosody{Temperature: new(1.0)}, "").phrasesOf("Well, hello there.", 42)
	require.Equal(t, []Phrase{
		{Runes: 6, Pitch: 0.113, Range: 0.942, Rate: 0.957, Gain: -0.525, Gap: 0.013, Pause: OwnPause, Pauses: 0.861},
		{Runes: 12, Pitch: -0.338, Range: 1.062, Rate: 1.009, Gain: 0.35, Pause: OwnPause, Pauses: 0.928},
	}, got)
}

func anyProsody() *rapid.Generator[Prosody] {
	return rapid.Custom(func(t *rapid.T) Prosody {
		return Prosody{
			Conversational: rapid.Bool().Draw(t, "conversational"),
			Temperature:    rapid.Ptr(rapid.Float64Range(0.0001, 5), true).Draw(t, "temperature"),
			TopP:           rapid.Ptr(rapid.Float64Range(0, 1), true).Draw(t, "top_p"),
			TopK:           rapid.Ptr(rapid.IntMin(0), true).Draw(t, "top_k"),
			Expressive:     rapid.Ptr(rapid.Float64(), true).Draw(t, "expressive"),
			Quality:        rapid.Ptr(rapid.Int(), true).Draw(t, "quality"),
			Solver:         rapid.SampledFrom([]string{"", "euler", "midpoint", "rk4", "x"}).Draw(t, "solver"),
		}
	})
}

func TestPhrasesOfAnyTextAndParametersKeepTheirLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.OneOf(rapid.SampledFrom([]string{" ", ", ", ". ", "a", "word", "。", "\n", "\xff", "😀"}), rapid.String())
		text := ""
		for _, p := range rapid.SliceOfN(part, 1, 200).Draw(t, "text") {
			text += p
		}
		model := rapid.SampledFrom([]string{"", ModelAurora, ModelBlizzard20, ModelBlizzardDialogue}).Draw(t, "model")
		m := newManner(anyProsody().Draw(t, "prosody"), model)
		phrases := m.phrasesOf(text, rapid.Int64().Draw(t, "seed"))
		require.LessOrEqual(t, len(phrases), maxPhrases)
		runes := 0
		for _, p := range phrases {
			require.True(t, p.Valid(), "%+v", p)
			runes += p.Runes
		}
		if phrases != nil {
			require.Equal(t, utf8.RuneCountInString(text), runes)
		}
	})
}
