package speech

import "github.com/recital-tts/recital/internal/speech/mastering"

// Timbre is what makes another voice of a system voice's variant: numbers alone, so that nothing that a client sent
// reaches an engine.
type Timbre struct {
	PitchLow  float64 `json:"pitch_low"`  // Hz, the lower end of the engine's neutral intonation
	PitchHigh float64 `json:"pitch_high"` // Hz, its upper end
	Formants  float64 `json:"formants"`   // a factor on the frequencies of the variant's formants
	Breath    float64 `json:"breath"`     // of noise in the voice: 0 none, 1 the most
	Pace      float64 `json:"pace"`       // a factor on the speed

	// What happens to the samples after the engine.
	Gain      float64   `json:"gain"`      // dB
	Equaliser []float64 `json:"equaliser"` // dB, at the bands of package mastering; none means flat
}

// Limits of timbres.
const (
	MinTimbrePitch = 40.0
	MaxTimbrePitch = 500.0
	MinFormants    = 0.75
	MaxFormants    = 1.35
	MinTimbrePace  = 0.7
	MaxTimbrePace  = 1.4
)

// Valid reports whether the timbre is within the limits.
func (t Timbre) Valid() bool {
	sound := mastering.Settings{Gain: t.Gain, Equaliser: t.Equaliser}
	return sound.Check() == nil && within(t.PitchLow, MinTimbrePitch, MaxTimbrePitch) &&
		within(t.PitchHigh, t.PitchLow, MaxTimbrePitch) && within(t.Formants, MinFormants, MaxFormants) &&
		within(t.Breath, 0, 1) && within(t.Pace, MinTimbrePace, MaxTimbrePace)
}
