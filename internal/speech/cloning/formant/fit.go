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
	tunings    = 2 // rounds in which formants, breath and pace are brought nearer
	equalising = 2 // rounds of the equaliser and the gain; the pitch is brought nearer in all rounds
)

// Fit implements cloning.Cloner. The accent decides in which language candidates are compared with the recordings; the
// voice speaks with that of the language that is spoken.
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

// unusable returns why no voice can be made of recordings, as a sentence for people, and "" if one can.
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

// mostMusic is how much recordings may be like music, of which a little may be mixed with speech.
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
	median  float64 // the pitch in Hz that the voice is to have
	limit   gap     // within which what is settled for has to be
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

// aim sets the pitch that the voice is to have: that of the target, or of the variant if they cannot be told apart. In
// other languages than the speaker's, the pitch of a voice is another one by more than the two may differ.
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

// goal returns the pitch in Hz of a variant if the target's cannot be told apart from it, and that of the target else.
func (f *fitting) goal(own float64) float64 {
	target := f.target.Statistics.PitchQuantile(0.5)
	if math.Abs(semitones(target, own)) <= f.chance().pitch {
		return own
	}
	return target
}

// choose begins with the variant that is nearest.
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

// advance reports that one more rendering is measured.
func (f *fitting) advance() {
	f.done++
	if f.progress != nil {
		f.progress(f.done, f.total)
	}
}

// mismatch is how much an equaliser would have to do, in dB.
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

// pitch brings the median and the range of the pitch nearer by what they are wrong now.
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

// tune brings formants, breath and pace nearer by what they are wrong now.
func (f *fitting) tune() {
	target, now, t := &f.target.Statistics, &f.now.Statistics, &f.timbre
	t.Formants = inRange(t.Formants*math.Pow(formantRatio(target, now), 0.8), leastFormants, mostFormants)
	t.Breath = inRange(t.Breath+breathPerDecibel*(now.Harmonicity()-target.Harmonicity()), leastBreath, mostBreath)
	t.Pace = inRange(t.Pace*target.Pace()/max(now.Pace(), 1), leastPace, mostPace)
}

// Limits within which the synthesiser sounds natural. The range of the pitch is at most about that of the natural
// variants: in a wider one the median depends on the sentence more than on the voice. The pace is kept near the
// synthesiser's, because it is known to a tenth: how many syllables have a peak of their own depends on the speaker.
const (
	leastHalf, mostHalf         = 1.05, 1.3
	leastBreath, mostBreath     = 0.5, 0.75
	leastFormants, mostFormants = 0.85, 1.2
	leastPace, mostPace         = 0.8, 1.25
)

// breathPerDecibel is small: breath changes the ratio of what is periodic to what is not less than recordings vary in
// it.
const breathPerDecibel = 0.02

// spread returns the range of the intonation in semitones.
func spread(s *acoustics.Statistics) float64 {
	return semitones(s.PitchQuantile(0.9), s.PitchQuantile(0.1))
}

// formantRatio returns by how much the formants of a voice are above those of another one: the geometric mean over F1
// to F3, the higher ones counting more, because they depend less on what is said.
func formantRatio(a, b *acoustics.Statistics) float64 {
	sum, all := 0.0, 0.0
	for i, weight := range []float64{1, 2, 2} {
		if a.Formant(i) > 0 && b.Formant(i) > 0 {
			sum, all = sum+weight*math.Log(a.Formant(i)/b.Formant(i)), all+weight
		}
	}
	return math.Exp(sum / max(all, 1))
}

// differences returns how much louder the target is in each band in dB, the level of all apart: half by the long-term
// spectrum, in which the loud moments count, and half by the mean of all moments, unless noise fills the quiet ones.
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

// cleanSNR is the ratio of speech to noise in dB from which the quiet moments of a recording are those of the voice.
const cleanSNR = 30

// isClean reports whether the mean levels of the target are those of the voice.
func (f *fitting) isClean() bool {
	return f.target.SNR >= cleanSNR && f.target.Statistics.MeanLevels() != [acoustics.Bands]float64{}
}

// apart returns the differences of spectra in dB without their mean, and 0 where the target is not known: what is above
// the bandwidth of a telephone is as the variant has it.
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

// known returns the frequency in Hz up to which the spectrum of the target is that of the voice. What a telephone seems
// to transmit above its own limit is left over from resampling.
func (f *fitting) known() float64 {
	if f.target.Bandwidth < mostOfTelephone {
		return min(f.target.Bandwidth, telephone)
	}
	return f.target.Bandwidth
}

// The limit of a telephone, and up to where its recordings seem to reach, in Hz.
const (
	telephone       = 4000.0
	mostOfTelephone = 5000.0
)

// equalise brings the long-term spectrum and the loudness nearer by what they are wrong now.
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

// level brings the loudness nearer.
func (f *fitting) level() {
	f.timbre.Gain = inRange(f.timbre.Gain+loudness.Target-f.now.loudness, -mastering.MaxGain, mastering.MaxGain)
}

// mostBoost is what a band is raised or lowered at most, in dB.
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
