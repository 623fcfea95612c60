package session

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

const (
	idSize     = 16 // bytes
	secretSize = 32 // bytes
)

// Cookie is a browser's credential for a session: its public id and its secret.
type Cookie struct{ ID, Secret string }

// DrawCookie draws the id and the first secret of a session from a source of random bytes.
func DrawCookie(random io.Reader) (Cookie, error) {
	var id [idSize]byte
	if _, err := io.ReadFull(random, id[:]); err != nil {
		return Cookie{}, fmt.Errorf("drawing the id of a session: %w", err)
	}
	return Cookie{ID: hex.EncodeToString(id[:])}.Renewed(random)
}

// Renewed returns a cookie for the session with a new secret.
func (c Cookie) Renewed(random io.Reader) (Cookie, error) {
	var secret [secretSize]byte
	if _, err := io.ReadFull(random, secret[:]); err != nil {
		return Cookie{}, fmt.Errorf("drawing the secret of a session: %w", err)
	}
	return Cookie{ID: c.ID, Secret: base64.RawURLEncoding.EncodeToString(secret[:])}, nil
}

// ParseCookie parses the value of a cookie. It reports in ok whether the value is well formed.
func ParseCookie(value string) (c Cookie, ok bool) {
	c.ID, c.Secret, _ = strings.Cut(value, ".")
	secret, err := base64.RawURLEncoding.Strict().DecodeString(c.Secret) // skips line breaks
	return c, ValidID(c.ID) && err == nil && len(secret) == secretSize &&
		len(c.Secret) == base64.RawURLEncoding.EncodedLen(secretSize)
}

// Value returns the value of the cookie.
func (c Cookie) Value() string { return c.ID + "." + c.Secret }

// Hash returns the stored form of the secret: SHA-256 in hex.
func (c Cookie) Hash() string {
	sum := sha256.Sum256([]byte(c.Secret))
	return hex.EncodeToString(sum[:])
}

// ValidID reports whether a text has the form of an id.
func ValidID(id string) bool {
	return len(id) == 2*idSize && strings.Trim(id, "0123456789abcdef") == ""
}
