package voice

import (
	"fmt"
	"io"

	"github.com/recital-tts/recital/domain"
)

// idSize is the size of an id in bytes. Published clients rely on it.
const idSize = 8

// DrawID returns an id of 16 hex digits, drawn from a source of random bytes.
func DrawID(random io.Reader) (string, error) {
	id, err := domain.DrawID(random, idSize)
	if err != nil {
		return "", fmt.Errorf("drawing the id of a voice: %w", err)
	}
	return id, nil
}

// ValidID reports whether a string has the form of an id.
func ValidID(id string) bool { return domain.ValidID(id, idSize) }

// StreamPrefix begins the names of the streams of voices. The voice's id follows it.
const StreamPrefix = "voice-"

// Stream returns the name of a voice's stream. It is also the owner of the voice's blobs.
func Stream(id string) string { return StreamPrefix + id }

// SealedFor returns the purpose for which a voice's Profile is sealed.
func SealedFor(id string) string { return "voice/" + id }
