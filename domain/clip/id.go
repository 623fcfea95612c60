package clip

import (
	"fmt"
	"io"

	"github.com/recital-tts/recital/domain"
)

// idSize is the size of an id in bytes. Knowing a clip's id is enough to read it, as the API defines it, so ids are
// random and as long as keys.
const idSize = 16

// DrawID returns an id of 32 hex digits, drawn from a source of random bytes.
func DrawID(random io.Reader) (string, error) {
	id, err := domain.DrawID(random, idSize)
	if err != nil {
		return "", fmt.Errorf("drawing the id of a clip: %w", err)
	}
	return id, nil
}

// ValidID reports whether a string has the form of an id.
func ValidID(id string) bool { return domain.ValidID(id, idSize) }

// StreamPrefix begins the names of the streams of clips. The clip's id follows it.
const StreamPrefix = "clip-"

// Stream returns the name of a clip's stream. It is also the owner of the clip's blob.
func Stream(id string) string { return StreamPrefix + id }

// SealedFor returns the purpose for which a clip's Content is sealed.
func SealedFor(id string) string { return "clip/" + id }
