package web

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// IdempotencyKey is embedded in the input of a route whose requests take effect once, however often a client repeats them
// under one key.
type IdempotencyKey struct {
	Key string `header:"idempotency-key" minlen:"1" maxlen:"255" pattern:"^[!-~]+$" doc:"A key of the client's choice: a repetition with the same key within 24 hours has the same answer and no further effect."`
}

// Repeatable is an input in which an IdempotencyKey is embedded.
type Repeatable interface{ idempotencyKey() string }

// Repetition says by which key a request may be repeated, and what it asks for. Both are hashes in hexadecimal, and empty
// where the client has sent no key.
type Repetition struct {
	Key     string // of the account, the route and the client's key
	Content string // of all that was bound, the key included
}

// RepetitionOf returns the repetition of a call by its bound input, which is its content.
func RepetitionOf(call *Call, in Repeatable) (Repetition, error) {
	key := in.idempotencyKey()
	if key == "" {
		return Repetition{}, nil
	}
	content, err := json.Marshal(in)
	if err != nil {
		return Repetition{}, fmt.Errorf("encoding the input of a request: %w", err)
	}
	scope := strings.Join([]string{call.Principal.Account, call.Route.Method, call.Route.Path, key}, "\n")
	return Repetition{Key: hashOf([]byte(scope)), Content: hashOf(content)}, nil
}

func (k IdempotencyKey) idempotencyKey() string { return k.Key }

func hashOf(b []byte) string {
	hash := sha256.Sum256(b)
	return hex.EncodeToString(hash[:])
}
