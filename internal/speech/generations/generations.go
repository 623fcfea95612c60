// Package generations draws ids of syntheses. An id proves, without a look-up, that it was drawn for an account.
package generations

import (
	"crypto/hmac"
	"crypto/sha256"

	"github.com/google/uuid"
)

// drawn is the size of the random part of an id, in bytes. The rest is a MAC of 48 bits: a guess succeeds once in 2^48
// requests, and requests are rate-limited.
const drawn = 10

// IDs draws and recognises ids: UUIDs of version 4 with a MAC of the other bytes and the account in the last six bytes.
type IDs struct{ key []byte }

// New returns IDs with a key. All instances must use the same key.
func New(key []byte) IDs { return IDs{key} }

// Draw returns a new id for a synthesis of an account.
func (g IDs) Draw(account string) uuid.UUID {
	id := uuid.New()
	g.sign(account, &id)
	return id
}

// Read parses an id, and returns false unless it was drawn for the account.
func (g IDs) Read(account, text string) (uuid.UUID, bool) {
	given, err := uuid.Parse(text)
	if err != nil {
		return uuid.UUID{}, false
	}
	id := given
	g.sign(account, &id)
	return id, hmac.Equal(id[:], given[:])
}

func (g IDs) sign(account string, id *uuid.UUID) {
	mac := hmac.New(sha256.New, g.key)
	mac.Write(id[:drawn])
	mac.Write([]byte(account))
	copy(id[drawn:], mac.Sum(nil))
}
