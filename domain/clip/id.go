package clip

import (
	"encoding/hex"
	"fmt"
	"io"
)

// idSize is that of an id, in bytes. Who knows a clip's id may see it, as the interface has it, so ids are random and as
// long as keys.
const idSize = 16

// DrawID makes an id from a source of random bytes: 32 hex digits.
func DrawID(random io.Reader) (string, error) {
	var id [idSize]byte
	if _, err := io.ReadFull(random, id[:]); err != nil {
		return "", fmt.Errorf("drawing the id of a clip: %w", err)
	}
	return hex.EncodeToString(id[:]), nil
}

// ValidID tells whether a text can be an id at all.
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

// Stream is where a clip's events are. The clip also owns its blob under this name.
func Stream(id string) string { return "clip-" + id }

// SealedFor is the use that a clip's Content is sealed for.
func SealedFor(id string) string { return "clip/" + id }
