package account

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// A key is a prefix, 30 random base62 digits and a CRC-32 of these in 6 base62 digits, so that a mistyped key is
// refused without a look-up and secret scanners can recognise keys.
const (
	keyPrefix   = "rk_"
	keyRandom   = 30
	keyChecksum = 6
	base62      = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// DrawAPIKey returns a key with about 178 bits of entropy from a source of random bytes.
func DrawAPIKey(random io.Reader) (string, error) {
	digits := make([]byte, 0, keyRandom)
	for buffer := make([]byte, 1); len(digits) < keyRandom; {
		if _, err := io.ReadFull(random, buffer); err != nil {
			return "", fmt.Errorf("drawing an API key: %w", err)
		}
		if buffer[0] < 4*62 { // larger values would favour some digits
			digits = append(digits, base62[buffer[0]%62])
		}
	}
	sum := checksum(string(digits))
	return keyPrefix + string(digits) + string(sum[:]), nil
}

// WellFormedAPIKey reports whether a text has the form of a key.
func WellFormedAPIKey(key string) bool {
	digits, found := strings.CutPrefix(key, keyPrefix)
	if !found || len(digits) != keyRandom+keyChecksum {
		return false
	}
	sum := checksum(digits[:keyRandom])
	return string(sum[:]) == digits[keyRandom:]
}

// HashAPIKey returns the stored form of a key: SHA-256 in hex. A random key needs no slow hash.
func HashAPIKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return string(hex.AppendEncode(make([]byte, 0, 2*len(sum)), sum[:])) // one allocation for each request
}

// MaskAPIKey returns the displayed form of a key, which must be well formed.
func MaskAPIKey(key string) string {
	return key[:len(keyPrefix)+4] + "****" + key[len(key)-4:]
}

func checksum(digits string) (out [keyChecksum]byte) {
	sum := crc32.ChecksumIEEE([]byte(digits))
	for i := range out {
		out[keyChecksum-1-i] = base62[sum%62]
		sum /= 62
	}
	return out
}
