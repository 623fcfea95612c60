package account

import (
	"slices"
	"time"

	"github.com/recital-tts/recital/domain"
)

// RevokeAPIKey takes a key away for good. Also the last key of an account can be revoked.
type RevokeAPIKey struct {
	Masked string
	At     time.Time
}

// Decide refuses a masked form that none of the account's keys has, be it that it never had or that it was revoked.
func (c RevokeAPIKey) Decide(s State) ([]Event, error) {
	i := slices.IndexFunc(s.Keys, func(k Key) bool { return k.Masked == c.Masked })
	if i < 0 {
		return nil, domain.Refuse(domain.NotFound, "There is no such API key")
	}
	return []Event{APIKeyRevoked{Account: s.Account, Hash: s.Keys[i].Hash, Masked: c.Masked, At: c.At}}, nil
}
