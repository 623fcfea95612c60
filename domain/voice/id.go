package voice

import (
	"encoding/hex"
	"fmt"
	"io"
)

// idSize is the size of an id in bytes, as published clients know ids.
const idSize = 8

// DrawID returns an id of 16 hex digits, drawn from a source of random bytes.
func DrawID(random io.Reader) (string, error) {
	var id [idSize]byte
	if _, err := io.ReadFull(random, id[:]); err != nil {
		return "", fmt.Errorf("drawing the id of a voice: %w", err)
	}
	return hex.EncodeToString(id[:]), nil
}

// ValidID reports whether a string has the form of an id.
func ValidID(id string) bool {
	if len(id) != 2*idSize {
		return false
	}
	for _, c := range []byte(id) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// StreamPrefix is that of the streams of voices, followed by the voice's id.
const StreamPrefix = "voice-"

// Stream returns the name of a voice's stream. It is also the owner of the voice's blobs.
func Stream(id string) string { return StreamPrefix + id }

// SealedFor returns the purpose for which a voice's Profile is sealed.
func SealedFor(id string) string { return "voice/" + id }
