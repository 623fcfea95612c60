package web

import (
	"crypto/rand"
	"regexp"
)

const base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// requestIDLength is enough for 128 bits, like the ids of the service whose clients we serve.
const requestIDLength = 22

// newRequestID makes "req_" and 22 base58 characters.
func newRequestID() string {
	id := make([]byte, 0, 4+requestIDLength)
	id = append(id, "req_"...)
	var random [2 * requestIDLength]byte
	for len(id) < cap(id) {
		rand.Read(random[:]) // never fails
		for _, b := range random {
			// 232 is the largest multiple of 58 in a byte: larger values would favour some characters.
			if b < 232 && len(id) < cap(id) {
				id = append(id, base58[b%58])
			}
		}
	}
	return string(id)
}

var tracePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// traceID is a client's own x-request-id, or "" when it is not fit for a log.
func traceID(header []byte) string {
	if len(header) == 0 || !tracePattern.Match(header) {
		return ""
	}
	return string(header)
}
