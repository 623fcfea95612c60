package formant

import (
	"context"
	"math"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/acoustics"
)

// fallbacks is the maximum number of renderings in settle, besides the variants'.
const fallbacks = 3

// settle keeps the timbre unless it is, beyond chance, farther from the target in any respect than the nearest variant
// in that respect. Otherwise it tries the timbre without the equaliser, and finally the nearest variant at the target's
// pitch.
func (f *fitting) settle(ctx context.Context, variants []string) error {
	limit, nearest, err := f.plain(ctx, variants)
	if err != nil {
		return err
	}
	f.limit = limit.plus(f.chance())
	flat, alone := f.timbre, neutral(f.target.Statistics.PitchQuantile(0.5))
	flat.Equaliser = nil
	alone.PitchLow, alone.PitchHigh = flat.PitchLow, flat.PitchHigh
	for _, c := range []struct {
		variant string
		timbre  speech.Timbre
	}{{f.variant, flat}, {f.variant, alone}, {nearest, alone}} {
		if !f.gap().farther(f.limit) {
			return nil
		}
		f.variant, f.timbre = c.variant, c.timbre
		if err := f.listen(ctx, f.calibration.whole); err != nil {
			return err
		}
	}
	return nil
}

// plain measures the unchanged variants. It returns their smallest distance in each respect, and the variant with the
// nearest spectrum.
func (f *fitting) plain(ctx context.Context, variants []string) (least gap, nearest string, err error) {
	for i, variant := range variants {
		now, err := f.cloner.hear(ctx, speech.Voice{Variant: variant}, f.calibration.whole)
		if err != nil {
			return gap{}, "", err
		}
		f.advance()
		far := (&fitting{target: f.target, now: now}).gap()
		if i == 0 || far.spectrum < least.spectrum {
			nearest = variant
		}
		if i == 0 {
			least = far
		}
		least = gap{min(least.pitch, far.pitch), min(least.spectrum, far.spectrum), min(least.cepstrum, far.cepstrum)}
	}
	return least, nearest, nil
}

// gap is the distance of a rendering from the target.
type gap struct {
	pitch    float64 // semitones
	spectrum float64 // dB
	cepstrum float64 // dB
}

func (f *fitting) gap() gap {
	target, now := &f.target.Statistics, &f.now.Statistics
	return gap{
		math.Abs(semitones(target.PitchQuantile(0.5), now.PitchQuantile(0.5))), f.mismatch(), f.cepstrum(),
	}
}

// numbers is the number of compared cepstra, without the first, which is the level.
const numbers = 12

// cepstrum returns the distance of the mean mel-frequency cepstra, as a root mean square over the known bands; 0 if
// noise fills the quiet moments of the target.
func (f *fitting) cepstrum() float64 {
	if !f.isClean() {
		return 0
	}
	differences := f.apart(f.target.Statistics.MeanLevels(), f.now.MeanLevels())
	known := 0
	for known < acoustics.Bands && acoustics.BandHertz(known) < f.known() {
		known++
	}
	squares, n := 0.0, float64(max(known, 1))
	for k := 1; k <= numbers; k++ {
		sum := 0.0
		for band, difference := range differences[:known] {
			sum += math.Sqrt(2) / n * difference * math.Cos(math.Pi*float64(k)*(float64(band)+0.5)/n)
		}
		squares += sum * sum
	}
	return math.Sqrt(squares)
}

func (g gap) farther(than gap) bool {
	return g.pitch > than.pitch || g.spectrum > than.spectrum || g.cepstrum > than.cepstrum
}

func (g gap) plus(by gap) gap {
	return gap{g.pitch + by.pitch, g.spectrum + by.spectrum, g.cepstrum + by.cepstrum}
}

// likely is the number of standard errors that chance exceeds once in twenty times.
const likely = 1.96

// chance returns the likely distance of other recordings of the speaker: the error of a median of normally distributed
// values, of which about one a second is independent.
func (f *fitting) chance() gap {
	s := &f.target.Statistics
	deviation := spread(s) / 2.56 // from the 10th to the 90th percentile
	return gap{likely * 1.25 * deviation / math.Sqrt(max(s.Voiced, 1)), 0.5, 0.5}
}
