package account

import (
	"slices"
	"time"

	"github.com/recital-tts/recital/domain"
)

// MaxKeys is the maximum number of keys of an account.
const MaxKeys = 100

// CreateAPIKey adds a key that the caller has drawn and issued to the account (see package apikey). Adding the same key
// again has no effect.
type CreateAPIKey struct {
	Hash       string
	Masked     string
	Name       string // "" for none
	SealedName []byte // see APIKeyCreated
	At         time.Time
}

// Decide refuses an invalid name, and an account that is not open, has too many keys, or has another key of the same
// masked form. In the last case the caller draws another key. A caller that may add a key twice must make sure that it
// has not been revoked in between.
func (c CreateAPIKey) Decide(s State) ([]Event, error) {
	if err := s.requireOpen(); err != nil {
		return nil, err
	}
	if c.Name != "" && !ValidKeyName(c.Name) {
		return nil, errKeyName
	}
	if s.HasKey(c.Hash) {
		return nil, nil
	}
	if slices.ContainsFunc(s.Keys, func(k Key) bool { return k.Masked == c.Masked }) {
		return nil, domain.Refuse(domain.Conflict, "Another key of the account looks the same when masked")
	}
	if len(s.Keys) >= MaxKeys {
		return nil, domain.Refuse(domain.Denied, "The account has 100 API keys, the most it can have; delete one first")
	}
	return []Event{APIKeyCreated{Account: s.Account, Hash: c.Hash, Masked: c.Masked, SealedName: c.SealedName, At: c.At}},
		nil
}
