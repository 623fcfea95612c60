// Package links builds the absolute URLs in replies. Some of them are signed: whoever has such a URL can read its
// target without an API key.
package links

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strings"
)

// Links builds URLs below one base, and signs them with one key.
type Links struct {
	base string
	key  []byte
}

// New returns the links below a public URL. If it is empty, they are below the host that the client used, over HTTP.
func New(publicURL string, key []byte) Links {
	return Links{base: strings.TrimRight(publicURL, "/"), key: key}
}

// Base returns the public URL without a trailing slash, or "".
func (l Links) Base() string { return l.base }

// To returns the URL of a path, for a client that used a host.
func (l Links) To(host, path string) string {
	if l.base != "" {
		return l.base + path
	}
	return (&url.URL{Scheme: "http", Host: host}).String() + path
}

// Purpose is what a signature permits. It is signed together with an id, so that a signature for one purpose is
// invalid for another.
type Purpose string

// Signed returns the URL of a path with a signature, for the parameter sig of its route.
func (l Links) Signed(host, path string, purpose Purpose, id string) string {
	return l.To(host, path) + "?sig=" + l.sign(purpose, id)
}

// Verify reports whether a signature is valid for a purpose and an id.
func (l Links) Verify(purpose Purpose, id, signature string) bool {
	return hmac.Equal([]byte(l.sign(purpose, id)), []byte(signature))
}

// signatureSize is the length of the truncated HMAC, in bytes.
const signatureSize = 16

func (l Links) sign(purpose Purpose, id string) string {
	mac := hmac.New(sha256.New, l.key)
	mac.Write([]byte(string(purpose) + " " + id))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:signatureSize])
}
