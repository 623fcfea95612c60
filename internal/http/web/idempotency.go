package web

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/recital-tts/recital/domain"
)

// IdempotencyKey is embedded in the input of a route whose requests take effect once, however often a client repeats them
// under one key.
type IdempotencyKey struct {
	Key string `header:"idempotency-key" minlen:"1" maxlen:"255" pattern:"^[!-~]+$" doc:"A key of the client's choice: a repetition with the same key within 24 hours has the same answer and no further effect."`
}

// Repeatable is an input in which an IdempotencyKey is embedded.
type Repeatable interface{ idempotencyKey() string }

// RepetitionOf returns the repetition of a call. Its content is all of the bound input, the key included.
func RepetitionOf(call *Call, in Repeatable) (domain.Repetition, error) {
	key := in.idempotencyKey()
	if key == "" {
		return domain.Repetition{}, nil
	}
	content, err := json.Marshal(in)
	if err != nil {
		return domain.Repetition{}, fmt.Errorf("encoding the input of a request: %w", err)
	}
	scope := strings.Join([]string{call.Principal.Account, call.Route.Method, call.Route.Path, key}, "\n")
	return domain.Repetition{Key: hashOf([]byte(scope)), Content: hashOf(content)}, nil
}

func (k IdempotencyKey) idempotencyKey() string { return k.Key }

func hashOf(b []byte) string {
	hash := sha256.Sum256(b)
	return hex.EncodeToString(hash[:])
}
