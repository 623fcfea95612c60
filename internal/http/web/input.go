package web

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/http/web/bind"
)

// Decoder returns a function that binds JSON documents like the bodies of routes; package bind explains the tags. Its
// errors are a 422's. It panics on wrong tags, at the first start.
func Decoder[In any](variant bind.Variant) func(document []byte) (In, error) {
	plan, err := variant.Compile(reflect.TypeFor[In]())
	if err != nil {
		panic(fmt.Sprintf("making a decoder: %v", err))
	}
	return func(document []byte) (in In, err error) {
		items, err := plan.Bind(reflect.ValueOf(&in).Elem(), &bind.Request{ContentType: "application/json", Body: document})
		if err != nil {
			return in, fmt.Errorf("decoding a document: %w", err)
		}
		if len(items) > 0 {
			return in, Invalid(items...)
		}
		return in, nil
	}
}

// Instant is a time in an input, such as 2026-11-22T15:04:05Z, in UTC.
type Instant time.Time

// UnmarshalText implements encoding.TextUnmarshaler.
func (i *Instant) UnmarshalText(text []byte) error {
	t, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil || t.Year() < 1 {
		return errors.New("a time looks like 2026-11-22T15:04:05Z")
	}
	*i = Instant(t.UTC())
	return nil
}

// IdempotencyKey is embedded in the input of a route that executes repeated requests with one key only once.
type IdempotencyKey struct {
	Key string `header:"idempotency-key" minlen:"1" maxlen:"255" pattern:"^[!-~]+$" doc:"A key of the client's choice: a repetition with the same key within 24 hours has the same answer and no further effect."`
}

// Repeatable is implemented by inputs with an embedded IdempotencyKey.
type Repeatable interface{ idempotencyKey() string }

// RepetitionOf returns the repetition of a call. Its content is a hash of the bound input, including the key.
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
