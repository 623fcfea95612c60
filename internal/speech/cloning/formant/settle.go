package formant

import (
	"context"
	"math"

	"github.com/recital-tts/recital/internal/speech"
)

// fallbacks is how many renderings settle takes at most.
const fallbacks = 3

// settle keeps the timbre if it is in no respect farther from the target than the plain variant is, beyond chance.
// Otherwise it tries it without the equaliser, and is content with the variant at the pitch of the target.
func (f *fitting) settle(ctx context.Context) error {
	fitted, near := f.timbre, f.gap()
	plain, err := f.cloner.hear(ctx, speech.Voice{Variant: f.variant}, f.calibration.whole)
	if err != nil {
		return err
	}
	far := (&fitting{target: f.target, now: plain}).gap()
	if !near.farther(far, f.chance()) {
		return nil
	}
	fitted.Equaliser = nil
	alone := neutral(f.target.Statistics.PitchQuantile(0.5))
	alone.PitchLow, alone.PitchHigh = fitted.PitchLow, fitted.PitchHigh
	for _, f.timbre = range []speech.Timbre{fitted, alone} {
		if err := f.listen(ctx, f.calibration.whole); err != nil {
			return err
		}
		if !f.gap().farther(far, f.chance()) {
			return nil
		}
	}
	return nil
}

// gap is how far a rendering is from the target.
type gap struct {
	pitch    float64 // semitones
	spectrum float64 // dB
}

func (f *fitting) gap() gap {
	target, now := &f.target.Statistics, &f.now.Statistics
	return gap{math.Abs(semitones(target.PitchQuantile(0.5), now.PitchQuantile(0.5))), f.mismatch()}
}

func (g gap) farther(than, chance gap) bool {
	return g.pitch > than.pitch+chance.pitch || g.spectrum > than.spectrum+chance.spectrum
}

// likely is the number of standard errors that chance seldom exceeds: once in twenty times.
const likely = 1.96

// chance is how far other recordings of the speaker would be: the error of a median of normally distributed values, of
// which there is about one a second that does not follow from the one before.
func (f *fitting) chance() gap {
	s := &f.target.Statistics
	deviation := spread(s) / 2.56 // from the 10th to the 90th percentile
	return gap{pitch: likely * 1.25 * deviation / math.Sqrt(max(s.Voiced, 1)), spectrum: 0.5}
}
