package enginetest

import (
	"context"

	"github.com/recital-tts/recital/internal/speech"
)

// SystemVoices implements the port of voices by the system voices, for any account.
type SystemVoices struct{ speech.Catalogue }

// Speaking returns the voice with an id.
func (v *SystemVoices) Speaking(_ context.Context, _, id string) (speech.Voice, error) {
	return v.Find(id)
}
