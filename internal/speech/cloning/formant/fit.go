package formant

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/acoustics"
	"github.com/recital-tts/recital/internal/speech/cloning"
	"github.com/recital-tts/recital/internal/speech/loudness"
	"github.com/recital-tts/recital/internal/speech/mastering"
)

const (
	tunings    = 2 // rounds that adjust formants, breath and pace
	equalising = 2 // rounds that adjust the equaliser and the gain; all rounds adjust the pitch
)

// Fit implements cloning.Cloner. The accent determines the language in which candidates are compared with the
// recordings. The voice speaks each language without a foreign accent.
func (c *Cloner) Fit(
	ctx context.Context, analyses []cloning.Analysis, profile cloning.Profile, progress func(done, total int),
) (cloning.Model, error) {
	target, err := read(analyses)
	if err != nil {
		return cloning.Model{}, err
	}
	if reason := unusable(target); reason != "" {
		return cloning.Model{}, &cloning.UnusableError{Reason: reason}
	}
	variants := naturalVariants(profile.Gender, target.Statistics.PitchQuantile(0.5))
	f := &fitting{
		cloner: c, target: target, calibration: calibrationFor(profile.Accent),
		total: 2*len(variants) + 2 + tunings + equalising + fallbacks, progress: progress,
	}
	if err := f.fit(ctx, variants); err != nil {
		return cloning.Model{}, err
	}
	made := model{Variant: f.variant, Timbre: f.timbre, Installed: f.nearestInstalled(profile)}
	data, err := json.Marshal(made)
	if err != nil {
		return cloning.Model{}, fmt.Errorf("encoding a model: %w", err)
	}
	kept := cloning.Model{Engine: engineName, Data: data}
	if made.Installed != nil {
		kept.Base = made.Installed.ID
	}
	return kept, nil
}

// unusable returns the reason why recordings cannot be cloned, as a sentence for people, or "" if they can.
func unusable(target measured) string {
	switch {
	case target.Statistics.Speech < leastSpeech:
		return fmt.Sprintf("There is too little usable speech in the recordings: %.1f seconds, of at least %.0f",
			target.Statistics.Speech, leastSpeech)
	case target.Statistics.Voiced < leastSpeech/4 || target.Statistics.PitchQuantile(0.5) == 0:
		return "The recordings have no voice with a pitch, only whisper or noise"
	case target.Statistics.Music() > mostMusic:
		return "The recordings sound like music, not like speech"
	}
	return ""
}

// mostMusic is the maximum likeness of recordings to music. Speech may have a little music in its background.
const mostMusic = 0.9

// fitting is the search for the timbre that is nearest to a target.
type fitting struct {
	cloner      *Cloner
	target      measured
	calibration calibration
	progress    func(done, total int)
	done        int
	total       int

	variant string
	timbre  speech.Timbre
	now     sound   // of the timbre
	median  float64 // the desired pitch in Hz
	limit   gap     // the largest accepted distance
}

func (f *fitting) fit(ctx context.Context, variants []string) error {
	if err := f.choose(ctx, variants); err != nil {
		return err
	}
	if err := f.aim(ctx); err != nil {
		return err
	}
	if err := f.listen(ctx, f.calibration.whole); err != nil {
		return err
	}
	for round := range tunings + equalising {
		f.pitch()
		if round < tunings {
			f.tune()
		} else {
			f.equalise()
		}
		if err := f.listen(ctx, f.calibration.whole); err != nil {
			return err
		}
	}
	if err := f.settle(ctx, variants); err != nil {
		return err
	}
	f.level()
	return nil
}

// aim sets the desired pitch: the target's, or the variant's if the two are indistinguishable and the speaker's
// language is unknown. The pitch of a voice differs between languages by more than the permitted difference.
func (f *fitting) aim(ctx context.Context) error {
	if f.median = f.target.Statistics.PitchQuantile(0.5); f.calibration.own {
		return nil
	}
	plain, err := f.cloner.hear(ctx, speech.Voice{Variant: f.variant}, f.calibration.whole)
	if err != nil {
		return err
	}
	f.advance()
	f.median = f.goal(plain.PitchQuantile(0.5))
	return nil
}

// goal returns a variant's pitch in Hz if the target's is indistinguishable from it, and the target's otherwise.
func (f *fitting) goal(own float64) float64 {
	target := f.target.Statistics.PitchQuantile(0.5)
	if math.Abs(semitones(target, own)) <= f.chance().pitch {
		return own
	}
	return target
}

// choose selects the nearest variant.
func (f *fitting) choose(ctx context.Context, variants []string) error {
	start := neutral(f.target.Statistics.PitchQuantile(0.5))
	var best fitting
	for i, variant := range variants {
		f.variant, f.timbre = variant, start
		if err := f.listen(ctx, f.calibration.brief); err != nil {
			return err
		}
		if i == 0 || f.mismatch() < best.mismatch() {
			best = *f
		}
	}
	f.variant, f.timbre, f.now = best.variant, best.timbre, best.now
	return nil
}

// listen measures the timbre.
func (f *fitting) listen(ctx context.Context, readings []reading) error {
	now, err := f.cloner.hear(ctx, speech.Voice{Variant: f.variant, Timbre: &f.timbre}, readings)
	if err != nil {
		return err
	}
	f.now = now
	f.advance()
	return nil
}

// advance reports one more measured rendering.
func (f *fitting) advance() {
	f.done++
	if f.progress != nil {
		f.progress(f.done, f.total)
	}
}

// mismatch returns the root mean square of the correction by an ideal equaliser, in dB.
func (f *fitting) mismatch() float64 {
	differences := f.differences()
	sum, n := 0.0, 0.0
	for band, difference := range differences {
		if acoustics.BandHertz(band) < f.known() {
			sum, n = sum+difference*difference, n+1
		}
	}
	return math.Sqrt(sum / max(n, 1))
}

// pitch corrects the median and the range of the pitch by their current errors.
func (f *fitting) pitch() {
	target, now, t := &f.target.Statistics, &f.now.Statistics, &f.timbre
	middle := math.Sqrt(t.PitchLow * t.PitchHigh)
	half := math.Sqrt(t.PitchHigh / t.PitchLow)
	middle *= f.median / max(now.PitchQuantile(0.5), 1)
	half = math.Pow(half, inRange(spread(target)/max(spread(now), 0.5), 0.5, 2))
	half = inRange(half, leastHalf, mostHalf)
	t.PitchLow = inRange(middle/half, speech.MinTimbrePitch, speech.MaxTimbrePitch)
	t.PitchHigh = inRange(middle*half, t.PitchLow, speech.MaxTimbrePitch)
}

// tune corrects formants, breath and pace by their current errors.
func (f *fitting) tune() {
	target, now, t := &f.target.Statistics, &f.now.Statistics, &f.timbre
	t.Formants = inRange(t.Formants*math.Pow(formantRatio(target, now), 0.8), leastFormants, mostFormants)
	t.Breath = inRange(t.Breath+breathPerDecibel*(now.Harmonicity()-target.Harmonicity()), leastBreath, mostBreath)
	t.Pace = inRange(t.Pace*target.Pace()/max(now.Pace(), 1), leastPace, mostPace)
}

// Limits within which the synthesiser sounds natural. The range of the pitch is limited to about the range of the
// natural variants, because in a wider one the median depends more on the sentence than on the voice. The pace is kept
// near the synthesiser's, because it is measured only to a tenth: the share of syllables with a peak of their own
// depends on the speaker.
const (
	leastHalf, mostHalf         = 1.05, 1.3
	leastBreath, mostBreath     = 0.5, 0.75
	leastFormants, mostFormants = 0.85, 1.2
	leastPace, mostPace         = 0.8, 1.25
)

// breathPerDecibel is small, because recordings differ more in the ratio of harmonics to noise than breath changes it.
const breathPerDecibel = 0.02

// spread returns the range of the intonation in semitones.
func spread(s *acoustics.Statistics) float64 {
	return semitones(s.PitchQuantile(0.9), s.PitchQuantile(0.1))
}

// formantRatio returns the ratio of the formants of two voices: the geometric mean over F1 to F3, with more weight on
// the higher ones, because they depend less on the text.
func formantRatio(a, b *acoustics.Statistics) float64 {
	sum, all := 0.0, 0.0
	for i, weight := range []float64{1, 2, 2} {
		if a.Formant(i) > 0 && b.Formant(i) > 0 {
			sum, all = sum+weight*math.Log(a.Formant(i)/b.Formant(i)), all+weight
		}
	}
	return math.Exp(sum / max(all, 1))
}

// differences returns the excess of the target in each band in dB, apart from the overall level. It is the mean of the
// excess in the long-term spectrum, which loud moments dominate, and in the mean levels, unless noise fills the quiet
// moments.
func (f *fitting) differences() (out [acoustics.Bands]float64) {
	out = f.apart(f.target.Statistics.LongTermSpectrum(), f.now.LongTermSpectrum())
	if !f.isClean() {
		return out
	}
	for band, difference := range f.apart(f.target.Statistics.MeanLevels(), f.now.MeanLevels()) {
		out[band] = 0.5*out[band] + 0.5*difference
	}
	return out
}

// cleanSNR is the signal-to-noise ratio in dB from which the quiet moments of a recording belong to the voice.
const cleanSNR = 30

// isClean reports whether the mean levels of the target belong to the voice.
func (f *fitting) isClean() bool {
	return f.target.SNR >= cleanSNR && f.target.Statistics.MeanLevels() != [acoustics.Bands]float64{}
}

// apart returns the differences of spectra in dB without their mean, and 0 where the target is unknown: for a
// telephone's recording, the variant's spectrum is kept above its bandwidth.
func (f *fitting) apart(target, now [acoustics.Bands]float64) (out [acoustics.Bands]float64) {
	sum, n, known := 0.0, 0.0, f.known()
	for band := range out {
		if acoustics.BandHertz(band) < known {
			out[band] = target[band] - now[band]
			sum, n = sum+out[band], n+1
		}
	}
	for band := range out {
		if acoustics.BandHertz(band) < known {
			out[band] -= sum / max(n, 1)
		}
	}
	return out
}

// known returns the frequency in Hz up to which the target's spectrum belongs to the voice. Energy above a telephone's
// limit is an artefact of resampling.
func (f *fitting) known() float64 {
	if f.target.Bandwidth < mostOfTelephone {
		return min(f.target.Bandwidth, telephone)
	}
	return f.target.Bandwidth
}

// The bandwidth of a telephone, and the apparent bandwidth of its recordings, in Hz.
const (
	telephone       = 4000.0
	mostOfTelephone = 5000.0
)

// equalise corrects the long-term spectrum and the loudness by their current errors.
func (f *fitting) equalise() {
	differences := f.differences()
	bands := mastering.Bands()
	next := make([]float64, len(bands))
	for i, hertz := range bands {
		if f.timbre.Equaliser != nil {
			next[i] = f.timbre.Equaliser[i]
		}
		next[i] = inRange(next[i]+at(differences, hertz), -mostBoost, mostBoost)
	}
	f.timbre.Equaliser = next
	f.level()
}

// level corrects the loudness.
func (f *fitting) level() {
	f.timbre.Gain = inRange(f.timbre.Gain+loudness.Target-f.now.loudness, -mastering.MaxGain, mastering.MaxGain)
}

// mostBoost is the maximum change of a band in dB.
const mostBoost = 20.0

// at interpolates between the bands of the measured spectrum.
func at(levels [acoustics.Bands]float64, hertz float64) float64 {
	above := 0
	for above < acoustics.Bands && acoustics.BandHertz(above) < hertz {
		above++
	}
	switch above {
	case 0:
		return levels[0]
	case acoustics.Bands:
		return levels[acoustics.Bands-1]
	}
	low, high := acoustics.BandHertz(above-1), acoustics.BandHertz(above)
	return levels[above-1] + (hertz-low)/(high-low)*(levels[above]-levels[above-1])
}
