// Package generations names syntheses: an id shows, without a look-up, whether it was given to an account.
package generations

import (
	"crypto/hmac"
	"crypto/sha256"

	"github.com/google/uuid"
)

// drawn is the size of the random part of an id, in bytes. The rest is a MAC of 48 bits: a guess succeeds once in 2^48
// requests, which have a rate.
const drawn = 10

// IDs draws ids and recognises them: UUIDs of version 4, whose last six bytes are a MAC of the others and the account.
type IDs struct{ key []byte }

// New returns the IDs of a key, which all instances share.
func New(key []byte) IDs { return IDs{key} }

// Draw returns the id of a synthesis of an account.
func (g IDs) Draw(account string) uuid.UUID {
	id := uuid.New()
	g.sign(account, &id)
	return id
}

// Read returns an id as Draw made it, or false for what was never drawn for the account.
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
