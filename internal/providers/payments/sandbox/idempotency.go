package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/recital-tts/recital/internal/providers/payments/sandbox/store"
)

// Stripe forgets keys after 24 hours.
const keysKept = 24 * time.Hour

// keysInUse is the set of keys of the requests that are being answered.
type keysInUse struct {
	mu   sync.Mutex
	keys map[string]bool
}

func (k *keysInUse) begin(key string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.keys[key] {
		return false
	}
	if k.keys == nil {
		k.keys = map[string]bool{}
	}
	k.keys[key] = true
	return true
}

func (k *keysInUse) end(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.keys, key)
}

// remembered is a reply that repetitions of a request get, too.
type remembered struct {
	ID      string    `json:"id"`
	Content string    `json:"content"`
	Reply   reply     `json:"reply"`
	Until   time.Time `json:"until"`
}

// Key implements store.Object.
func (r *remembered) Key() string { return r.ID }

// Owner implements store.Object.
func (*remembered) Owner() string { return "" }

// Due implements store.Object.
func (r *remembered) Due() time.Time { return r.Until }

// Queue implements store.Object.
func (*remembered) Queue() string { return clockQueue }

func keyID(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "key_" + hex.EncodeToString(sum[:])
}

// remembered returns the reply that a call got before, or nil.
func (s *Sandbox) remembered(c *call) (*reply, error) {
	var r remembered
	err := s.store.Update(func(tx *store.Tx) error { return tx.Get(keyID(c.key), &r) })
	switch {
	case errors.Is(err, store.ErrNotFound) || err == nil && !s.clock.now().Before(r.Until):
		return nil, nil
	case err != nil:
		return nil, err
	case r.Content != c.content:
		return nil, &problem{
			status: http.StatusBadRequest, Type: "idempotency_error",
			Message: "Keys for idempotent requests can only be used with the same parameters they were first used with.",
		}
	}
	return &r.Reply, nil
}

func (s *Sandbox) remember(tx *store.Tx, c *call, given reply) error {
	if c.key == "" {
		return nil
	}
	return tx.Put(&remembered{ID: keyID(c.key), Content: c.content, Reply: given, Until: s.clock.now().Add(keysKept)})
}
