package speech

import (
	"slices"

	"github.com/recital-tts/recital/internal/speech/mastering"
)

// Voice is an allow-listed variant of the engine: a system voice, or the base of a voice that was cloned from
// recordings.
type Voice struct {
	ID          string // as clients send it, such as "leah"
	Name        string
	Gender      string // F, M or U
	Description string
	Variant     string  // of espeak-ng, such as "f2"; never a client's input
	Timbre      *Timbre // nil for a system voice
	// The installed voice that speaks for this one, or that this clone was made from; else nil. Variant and Timbre then
	// describe the voice that replaces it.
	Installed *Installed
}

// Voices returns the system voices in the order in which they are listed.
func Voices() []Voice {
	return []Voice{
		{ID: "leah", Name: "Leah", Gender: "F", Description: "Clear and friendly; the default voice.", Variant: "f2"},
		{ID: "ava", Name: "Ava", Gender: "F", Description: "Bright and lively, with a higher pitch.", Variant: "f3"},
		{ID: "lily", Name: "Lily", Gender: "F", Description: "Light and expressive, with marked stress.", Variant: "f4"},
		{ID: "zeke", Name: "Zeke", Gender: "M", Description: "Even and relaxed, a plain everyday voice.", Variant: "m3"},
		{ID: "morgan", Name: "Morgan", Gender: "M", Description: "Deep and calm, a narrator's voice.", Variant: "m8"},
		{ID: "elowen", Name: "Elowen", Gender: "F", Description: "Soft and breathy, close to a whisper.", Variant: "f5"},
		{ID: "curtis", Name: "Curtis", Gender: "M", Description: "Warm and full, with a low timbre.", Variant: "m7"},
		{ID: "amy", Name: "Amy", Gender: "F", Description: "Firm and mature, with a slight edge.", Variant: "f1"},
		{ID: "ansel", Name: "Ansel", Gender: "M", Description: "Mild and slightly muffled, a quiet reader.", Variant: "m6"},
	}
}

// LookupVoice returns the system voice with an id.
func LookupVoice(id string) (Voice, bool) {
	return new(Catalogue).Lookup(id)
}

// IsVariant reports whether a variant belongs to a system voice. Engine processes check it again before they use it.
func IsVariant(variant string) bool {
	return slices.ContainsFunc(Voices(), func(v Voice) bool { return v.Variant == variant })
}

// Timbre holds the parameters that turn a system voice's variant into another voice. They are all numbers, so that no
// input of a client reaches an engine.
type Timbre struct {
	PitchLow  float64 `json:"pitch_low"`  // Hz, the lower end of the engine's neutral intonation
	PitchHigh float64 `json:"pitch_high"` // Hz, its upper end
	Formants  float64 `json:"formants"`   // a factor on the frequencies of the variant's formants
	Breath    float64 `json:"breath"`     // noise in the voice: 0 is none, 1 the maximum
	Pace      float64 `json:"pace"`       // a factor on the speed

	// Applied to the engine's samples.
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
	return sound.Valid() && within(t.PitchLow, MinTimbrePitch, MaxTimbrePitch) &&
		within(t.PitchHigh, t.PitchLow, MaxTimbrePitch) && within(t.Formants, MinFormants, MaxFormants) &&
		within(t.Breath, 0, 1) && within(t.Pace, MinTimbrePace, MaxTimbrePace)
}

// The models that clients request by name. They are manners of speaking and, in American English, a choice of engine.
const (
	ModelAurora           = "aurora"            // the default engine, in the voice's own way
	ModelBlizzard         = "blizzard"          // the newest blizzard
	ModelBlizzard20       = "blizzard-2.0"      // the second engine, calm
	ModelBlizzard21       = "blizzard-2.1"      // the second engine, in the voice's own way
	ModelBlizzardDialogue = "blizzard-dialogue" // the second engine, in conversational style
)

// Models returns the models in the order in which they are listed.
func Models() []string {
	return []string{ModelAurora, ModelBlizzard, ModelBlizzard20, ModelBlizzard21, ModelBlizzardDialogue}
}

// secondEngineLanguage is the only language of the second engine.
const secondEngineLanguage = "en-us"

// usesSecondEngine reports whether a model uses the second engine for a language.
func usesSecondEngine(model, language string) bool {
	return language == secondEngineLanguage && model != "" && model != ModelAurora
}
