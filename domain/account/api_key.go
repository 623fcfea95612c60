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
// refused without a look-up and secret scanners tell keys from noise.
const (
	keyPrefix   = "rk_"
	keyRandom   = 30
	keyChecksum = 6
	base62      = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// DrawAPIKey makes a key from a source of random bytes: about 178 bits of it count.
func DrawAPIKey(random io.Reader) (string, error) {
	digits := make([]byte, 0, keyRandom)
	for buffer := make([]byte, 1); len(digits) < keyRandom; {
		if _, err := io.ReadFull(random, buffer); err != nil {
			return "", fmt.Errorf("drawing an API key: %w", err)
		}
		if buffer[0] < 4*62 { // larger values would make some digits likelier than others
			digits = append(digits, base62[buffer[0]%62])
		}
	}
	return keyPrefix + string(digits) + checksum(string(digits)), nil
}

// WellFormedAPIKey reports whether a text can be a key at all.
func WellFormedAPIKey(key string) bool {
	digits, found := strings.CutPrefix(key, keyPrefix)
	if !found || len(digits) != keyRandom+keyChecksum {
		return false
	}
	return checksum(digits[:keyRandom]) == digits[keyRandom:]
}

// HashAPIKey is the form in which a key is kept: SHA-256 in hex. A slow hash is not needed for a random key.
func HashAPIKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// MaskAPIKey is the form in which a key is shown. The key must be well formed.
func MaskAPIKey(key string) string {
	return key[:len(keyPrefix)+4] + "****" + key[len(key)-4:]
}

func checksum(digits string) string {
	sum := crc32.ChecksumIEEE([]byte(digits))
	var out [keyChecksum]byte
	for i := range out {
		out[keyChecksum-1-i] = base62[sum%62]
		sum /= 62
	}
	return string(out[:])
}
