// Package memkeys is a keyring in memory, for tests of decisions about sealed data.
package memkeys

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/tink-crypto/tink-go/v2/aead/subtle"

	"github.com/recital-tts/recital/internal/access/keyring"
)

// keySize is the size of an AES-256 key in bytes.
const keySize = 32

// Keyring implements keyring.Keyring and keyring.Fingerprinter.
type Keyring struct {
	prints []byte // the key of fingerprints

	mu   sync.Mutex
	keys map[string]*subtle.AESGCM // by account; nil for an erased one
}

// New returns a keyring without keys.
func New() *Keyring { return &Keyring{prints: draw(), keys: map[string]*subtle.AESGCM{}} }

func draw() []byte {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never fails
	return key
}

// Seal implements keyring.Keyring.
func (k *Keyring) Seal(ctx context.Context, account string, plaintext []byte, use string) ([]byte, error) {
	key, err := k.key(ctx, account, true)
	if err != nil {
		return nil, fmt.Errorf("sealing: %w", err)
	}
	return key.Encrypt(plaintext, []byte(account+"\n"+use))
}

// Open implements keyring.Keyring.
func (k *Keyring) Open(ctx context.Context, account string, sealed []byte, use string) ([]byte, error) {
	key, err := k.key(ctx, account, false)
	if err != nil {
		return nil, fmt.Errorf("opening sealed data: %w", err)
	}
	plaintext, err := key.Decrypt(sealed, []byte(account+"\n"+use))
	if err != nil {
		return nil, fmt.Errorf("opening sealed data: %w", keyring.ErrUnreadable)
	}
	return plaintext, nil
}

func (k *Keyring) key(ctx context.Context, account string, make bool) (*subtle.AESGCM, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key, known := k.keys[account]
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case known && key == nil:
		return nil, keyring.ErrErased
	case known:
		return key, nil
	case !make:
		return nil, keyring.ErrNoKey
	}
	key, err := subtle.NewAESGCM(draw())
	if err != nil {
		return nil, fmt.Errorf("drawing an account's key: %w", err)
	}
	k.keys[account] = key
	return key, nil
}

// Erase implements keyring.Keyring.
func (k *Keyring) Erase(ctx context.Context, account string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys[account] = nil
	return nil
}

// Fingerprint implements keyring.Fingerprinter.
func (k *Keyring) Fingerprint(ctx context.Context, data []byte, use string) ([]byte, error) {
	mac := hmac.New(sha256.New, k.prints)
	mac.Write([]byte(use + "\n"))
	mac.Write(data)
	return mac.Sum(nil), ctx.Err()
}
