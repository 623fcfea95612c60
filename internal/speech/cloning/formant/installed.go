package formant

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/interp"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/acoustics"
	"github.com/recital-tts/recital/internal/speech/cloning"
	"github.com/recital-tts/recital/internal/speech/mastering"
)

// nearestInstalled returns the installed voice of the speaker's language and gender with the nearest spectrum, moved to
// the target. It returns nil if that is, beyond chance, farther from the target in any respect than the nearest
// variant. Installed voices were measured at their installation, so they need not speak for the comparison.
func (f *fitting) nearestInstalled(profile cloning.Profile) (nearest *speech.Installed) {
	language, texts := languageOf(profile.Accent)
	if texts == nil || f.cloner.installed == nil {
		return nil
	}
	gender := genderOf(profile.Gender, f.target.Statistics.PitchQuantile(0.5))
	if !isJudged(base(language), gender) {
		return nil
	}
	least := math.Inf(1)
	for _, v := range f.cloner.installed() {
		if v.Gender != gender || base(v.Installed.Languages[0]) != base(language) {
			continue
		}
		moved, before, ok := f.moved(*v.Installed)
		if ok && before < least {
			nearest, least = &moved, before
		}
	}
	return nearest
}

// isJudged reports whether judges found clones with an installed base nearer than those without one. They heard only a
// woman who speaks English (docs/neural-voices.md).
func isJudged(language, gender string) bool { return language == "en" && gender == "F" }

// moved returns an installed voice moved to the target, the original distance of its spectrum, and whether the result
// is near enough.
func (f *fitting) moved(of speech.Installed) (clone speech.Installed, before float64, ok bool) {
	var own acoustics.Statistics
	if decode(of.Base.Sound, cloning.MaxAnalysisBytes, &own) != nil || own.Voiced <= 0 {
		return clone, 0, false
	}
	target := &f.target.Statistics
	wanted := target.PitchQuantile(0.5) / own.PitchQuantile(0.5)
	pitch := math.Round(speech.PitchSteps*inRange(wanted, speech.MinMovedPitch, speech.MaxMovedPitch)) / speech.PitchSteps
	pitch = inRange(pitch, speech.MinMovedPitch, speech.MaxMovedPitch)
	m := fitting{target: f.target, now: sound{Statistics: transposed(own, pitch)}}
	before = m.mismatch()
	power := level(m.now.Spectrum)
	m.colour()
	clone = speech.Installed{
		ID: of.ID, Languages: slices.Clone(of.Languages),
		Gain: inRange(of.Gain+power-level(m.now.Spectrum), -mastering.MaxGain, mastering.MaxGain),
		Moved: &speech.Moved{
			Package: of.Base.Package, Pitch: pitch, Equaliser: m.timbre.Equaliser,
			Pace: inRange(target.Pace()/max(own.Pace(), 1), leastPace, mostPace),
		},
	}
	near := m.gap()
	near.pitch = math.Abs(semitones(wanted, pitch))
	return clone, before, !near.farther(f.limit)
}

// colour corrects the spectrum by an equaliser, and computes the resulting spectrum.
func (f *fitting) colour() {
	f.equalise()
	bands := mastering.Bands()
	boosts := over(bands[:], f.timbre.Equaliser)
	for band := range acoustics.Bands {
		boost := boosts.Predict(acoustics.BandHertz(band))
		f.now.Spectrum[band] *= math.Pow(10, boost/10)
		f.now.Levels[band] += boost * f.now.Speech
	}
}

// transposed returns the measurement of a voice played faster by a factor, with the pitch unchanged.
func transposed(s acoustics.Statistics, factor float64) acoustics.Statistics {
	var hertz, powers [acoustics.Bands]float64
	for band, power := range s.Spectrum {
		hertz[band], powers[band] = factor*acoustics.BandHertz(band), math.Log(max(power, math.SmallestNonzeroFloat64))
	}
	spectrum, levels := over(hertz[:], powers[:]), over(hertz[:], s.Levels[:])
	for band := range hertz {
		s.Spectrum[band] = math.Exp(spectrum.Predict(acoustics.BandHertz(band)))
		s.Levels[band] = levels.Predict(acoustics.BandHertz(band))
	}
	return s
}

// over returns an interpolation of values over ascending frequencies.
func over(hertz, values []float64) (curve interp.PiecewiseLinear) {
	if err := curve.Fit(hertz, slices.Clone(values)); err != nil {
		panic(err) // the frequencies of bands ascend
	}
	return curve
}

// level returns the power of a spectrum in dB.
func level(spectrum [acoustics.Bands]float64) float64 {
	return 10 * math.Log10(max(floats.Sum(spectrum[:]), math.SmallestNonzeroFloat64))
}
