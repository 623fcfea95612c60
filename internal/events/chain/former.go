package chain

import (
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
)

// FormerSeed returns the seed of the key with which earlier releases signed heads in mode prod, where none was set: it was derived
// from the key that signs links.
func FormerSeed(signing []byte) ([]byte, error) {
	seed, err := hkdf.Key(sha256.New, signing, nil, "recital audit heads", len(signing))
	if err != nil {
		return nil, fmt.Errorf("deriving the audit key: %w", err)
	}
	return seed, nil
}
