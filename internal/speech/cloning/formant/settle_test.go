package formant

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/acoustics"
)

// A telephone transmits no voice above 4 kHz, whatever artefacts of resampling are there. The equaliser leaves these
// bands unchanged.
func TestTheEqualiserDoesNothingWhereNothingIsKnown(t *testing.T) {
	var target, now [acoustics.Bands]float64
	for band := range target {
		target[band] = -float64(band % 5)
		if acoustics.BandHertz(band) > 4000 {
			target[band] = -80
		}
	}
	f := &fitting{target: measured{Bandwidth: 4700}}
	changed := 0
	for band, difference := range f.apart(target, now) {
		if acoustics.BandHertz(band) > 4000 {
			require.Zero(t, difference, "at %.0f Hz", acoustics.BandHertz(band))
		} else if difference != 0 {
			changed++
		}
		require.Less(t, difference, 5.0)
	}
	require.Greater(t, changed, 10)
}

func TestACandidateIsFartherBeyondChance(t *testing.T) {
	limit := gap{0.1, 4, 2}.plus(gap{0.3, 0.5, 0.5})
	for name, c := range map[string]struct {
		candidate gap
		farther   bool
	}{
		"nearer":                {gap{0, 1, 1}, false},
		"farther by chance":     {gap{0.3, 4.4, 2.4}, false},
		"another pitch":         {gap{0.5, 1, 1}, true},
		"another colour":        {gap{0, 4.6, 1}, true},
		"other cepstra":         {gap{0, 1, 2.6}, true},
		"farther in everything": {gap{2, 9, 9}, true},
	} {
		require.Equal(t, c.farther, c.candidate.farther(limit), name)
	}
}

// The more speech there is, the better its pitch is known.
func TestChanceIsLessTheMoreIsSaid(t *testing.T) {
	chance := func(seconds float64) float64 {
		f := &fitting{}
		f.target.Statistics.Voiced = seconds
		for at := 50; at < 90; at++ {
			f.target.Statistics.Pitch[at] = seconds / 40
		}
		return f.chance().pitch
	}
	require.InDelta(t, 2, chance(10)/chance(40), 0.01)
	require.Less(t, chance(100), 1.0)
}

// A pitch that differs from the variant's only by chance is left at the variant's.
func TestThePitchIsThatOfAVariantThatHasTheSpeakers(t *testing.T) {
	f := &fitting{}
	f.target.Statistics.Voiced = 40
	for at := 50; at < 90; at++ {
		f.target.Statistics.Pitch[at] = 1
	}
	median, chance := f.target.Statistics.PitchQuantile(0.5), f.chance().pitch
	above := func(semitones float64) float64 { return median * math.Exp2(semitones/12) }
	require.InDelta(t, above(0.9*chance), f.goal(above(0.9*chance)), 1e-9)
	require.InDelta(t, above(-0.9*chance), f.goal(above(-0.9*chance)), 1e-9)
	require.InDelta(t, median, f.goal(above(1.1*chance)), 1e-9)
}
