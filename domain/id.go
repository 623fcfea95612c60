package domain

import (
	"encoding/hex"
	"io"
)

// DrawID returns an id in hex digits, with a number of bytes that are drawn from a source of random bytes.
func DrawID(random io.Reader, bytes int) (string, error) {
	id := make([]byte, bytes)
	if _, err := io.ReadFull(random, id); err != nil {
		return "", err
	}
	return hex.EncodeToString(id), nil
}

// ValidID reports whether a string has the form of an id of a number of bytes: hex digits in lower case.
func ValidID(id string, bytes int) bool {
	if len(id) != 2*bytes {
		return false
	}
	for _, c := range []byte(id) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
