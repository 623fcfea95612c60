package account

import (
	"time"

	"github.com/recital-tts/recital/domain"
)

// RevokeAPIKey revokes a key permanently. The last key of an account can be revoked, too.
type RevokeAPIKey struct {
	Masked string
	At     time.Time
}

// Decide refuses an unknown masked form, including a revoked key's.
func (c RevokeAPIKey) Decide(s State) ([]Event, error) {
	key, err := s.Key(c.Masked)
	if err != nil {
		return nil, err
	}
	return []Event{revoked(s.Account, key, c.At)}, nil
}

// DropAPIKey revokes the key with a hash permanently, if the account has it.
type DropAPIKey struct {
	Hash string
	At   time.Time
}

// Decide returns no event for a key that the account does not have.
func (c DropAPIKey) Decide(s State) ([]Event, error) {
	key, found := domain.First(s.Keys, func(k Key) bool { return k.Hash == c.Hash })
	if !found {
		return nil, nil
	}
	return []Event{revoked(s.Account, key, c.At)}, nil
}

func revoked(account string, key Key, at time.Time) Event {
	return APIKeyRevoked{Account: account, Hash: key.Hash, Masked: key.Masked, At: at}
}
