package account

import (
	"slices"
	"time"
)

// RevokeAPIKey takes a key away for good. Also the last key of an account can be revoked.
type RevokeAPIKey struct {
	Masked string
	At     time.Time
}

// Decide refuses a masked form that none of the account's keys has, be it that it never had or that it was revoked.
func (c RevokeAPIKey) Decide(s State) ([]Event, error) {
	key, err := s.Key(c.Masked)
	if err != nil {
		return nil, err
	}
	return []Event{revoked(s.Account, key, c.At)}, nil
}

// DropAPIKey takes the key with a hash away for good, if the account has it.
type DropAPIKey struct {
	Hash string
	At   time.Time
}

// Decide decides nothing for a key that the account does not have.
func (c DropAPIKey) Decide(s State) ([]Event, error) {
	i := slices.IndexFunc(s.Keys, func(k Key) bool { return k.Hash == c.Hash })
	if i < 0 {
		return nil, nil
	}
	return []Event{revoked(s.Account, s.Keys[i], c.At)}, nil
}

func revoked(account string, key Key, at time.Time) Event {
	return APIKeyRevoked{Account: account, Hash: key.Hash, Masked: key.Masked, At: at}
}
