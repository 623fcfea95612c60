// Package keyring is the port to the keys that seal personal data, one per account. Destroying an account's key makes
// all data sealed with it unreadable, in the log, in read models and in old backups of both. The adapter is the
// subpackage pgkeys.
package keyring

import (
	"context"
	"errors"
	"fmt"

	"github.com/recital-tts/recital/domain"
)

// Keyring seals and opens data. Every call ends with its context. Errors, besides the context's and
// domain.Unavailable, are those below; none contains plaintext or key material.
type Keyring interface {
	// Seal encrypts data for an account. The account's key is created at first use, and is durable before it seals any
	// data. The purpose (for example "clip/<id>") is authenticated: data sealed for one cannot be opened for another.
	// Errors: ErrErased.
	Seal(ctx context.Context, account string, plaintext []byte, use string) ([]byte, error)

	Opener

	// Erase destroys an account's key permanently: no other is ever created. It also succeeds for an erased account, or
	// one that never had a key. Other instances may open data a little longer if they have cached the key (see the
	// adapter).
	Erase(ctx context.Context, account string) error
}

// Opener is the part of a Keyring that readers need.
type Opener interface {
	// Open decrypts the result of Seal for the same account and purpose. Errors: ErrErased; ErrNoKey; ErrUnreadable.
	Open(ctx context.Context, account string, sealed []byte, use string) ([]byte, error)
}

// Fingerprinter derives look-up values from personal data. Without access to the keyring, the data of a fingerprint
// cannot be found by trial.
type Fingerprinter interface {
	// Fingerprint returns an HMAC-SHA256 of data under a key of the keyring's own, which belongs to no account and is
	// never erased. Fingerprints for different uses are unrelated.
	Fingerprint(ctx context.Context, data []byte, use string) ([]byte, error)
}

// Errors of a Keyring.
var (
	// ErrErased means that the account's key was destroyed.
	ErrErased = errors.New("the account's key was erased")
	// ErrNoKey means that data was sealed for the account but its key does not exist, because the keyring was lost.
	ErrNoKey = errors.New("the account has no key")
	// ErrUnreadable means that the data was altered, or sealed for another account, purpose or key.
	ErrUnreadable = errors.New("the sealed data cannot be opened")
	// ErrUnavailable means that the keyring cannot be reached now.
	ErrUnavailable = domain.Refuse(domain.Unavailable, "The keyring does not answer")
)

// Gone reports whether an error of Open means that the data is permanently unreadable.
func Gone(err error) bool {
	return errors.Is(err, ErrErased) || errors.Is(err, ErrNoKey) || errors.Is(err, ErrUnreadable)
}

// OpenText decrypts a text that is of no use once its key is gone. It returns nil then, and for no data.
func OpenText(ctx context.Context, keys Opener, account string, sealed []byte, use string) (*string, error) {
	if len(sealed) == 0 {
		return nil, nil
	}
	plain, err := keys.Open(ctx, account, sealed, use)
	switch {
	case Gone(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("opening sealed data: %w", err)
	}
	return new(string(plain)), nil
}
