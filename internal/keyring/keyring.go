// Package keyring is the port to the keys that personal data is sealed with: one for each account. Destroying an
// account's key makes all that was sealed with it unreadable, in the log, in read models and in old backups of both.
// The adapter is the subpackage pgkeys.
package keyring

import (
	"context"
	"errors"

	"github.com/recital-tts/recital/domain"
)

// Keyring seals and opens. Every call ends with its context. Errors, beside the context's and domain.Unavailable, are
// those below; none of them holds plaintext or key material.
type Keyring interface {
	// Seal encrypts for an account. Its key is made at first use, and is durable before anything is sealed with it. The
	// context of use (for example "clip/<id>") is authenticated: what was sealed in one cannot be opened in another.
	// Errors: ErrErased.
	Seal(ctx context.Context, account string, plaintext []byte, use string) ([]byte, error)

	Opener

	// Erase destroys an account's key, for ever: no other is ever made. Erasing again, or an account that never had a
	// key, succeeds. Other instances may open for a little longer what they have the key for (see the adapter).
	Erase(ctx context.Context, account string) error
}

// Opener is what readers need of a Keyring.
type Opener interface {
	// Open decrypts what Seal gave for the account and the context of use. Errors: ErrErased; ErrNoKey; ErrUnreadable.
	Open(ctx context.Context, account string, sealed []byte, use string) ([]byte, error)
}

// Errors of a Keyring.
var (
	// ErrErased says that the account's key was destroyed.
	ErrErased = errors.New("the account's key was erased")
	// ErrNoKey says that something was sealed for the account and its key is not there: the keyring was lost.
	ErrNoKey = errors.New("the account has no key")
	// ErrUnreadable says that the data was altered, or sealed for another account, use or key.
	ErrUnreadable = errors.New("the sealed data cannot be opened")
	// ErrUnavailable says that the keyring cannot be asked now.
	ErrUnavailable = domain.Refuse(domain.Unavailable, "The keyring does not answer")
)

// Gone tells whether an error of Open means that the data cannot be read any more, now or later.
func Gone(err error) bool {
	return errors.Is(err, ErrErased) || errors.Is(err, ErrNoKey) || errors.Is(err, ErrUnreadable)
}
