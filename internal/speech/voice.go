package speech

import (
	"context"
	"slices"

	"github.com/recital-tts/recital/domain"
)

// Voice is an allow-listed variant of the engine: a system voice as it is, or the base of a voice that was made from
// recordings.
type Voice struct {
	ID          string // as clients send it, such as "leah"
	Name        string
	Gender      string // F, M or U
	Description string
	Variant     string  // of espeak-ng, such as "f2"; never anything that a client sent
	Timbre      *Timbre // nil for a system voice
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
	voices := Voices()
	i := slices.IndexFunc(voices, func(v Voice) bool { return v.ID == id })
	if i < 0 {
		return Voice{}, false
	}
	return voices[i], true
}

// IsVariant reports whether a variant belongs to a system voice. Engine processes check it again before they use it.
func IsVariant(variant string) bool {
	return slices.ContainsFunc(Voices(), func(v Voice) bool { return v.Variant == variant })
}

// SystemVoices are the voices that every account may speak with.
type SystemVoices struct{}

// Speaking is FindVoice: these voices are everybody's.
func (SystemVoices) Speaking(_ context.Context, _, id string) (Voice, error) { return FindVoice(id) }

// FindVoice is LookupVoice for an id that a client sent. Errors: domain.NotFound.
func FindVoice(id string) (Voice, error) {
	voice, found := LookupVoice(id)
	if !found {
		return Voice{}, domain.Refuse(domain.NotFound, "There is no such voice")
	}
	return voice, nil
}
