// Package apikey is the aggregate of the streams apikey-<hash>: the account that an API key belongs to. The stream
// leads from a key to its account. Only the account's stream decides whether the key is valid.
package apikey

import (
	"time"

	"github.com/recital-tts/recital/domain"
)

// StreamPrefix is the prefix of the streams of API keys, followed by the key's hash.
const StreamPrefix = "apikey-"

// Stream returns the stream of the key with a hash, as returned by account.HashAPIKey.
func Stream(hash string) string { return StreamPrefix + hash }

// Event is the event of an API key.
type Event interface{ apikeyEvent() }

// Issued names the account of a key. It is written before the account's own event and is meaningless without that.
type Issued struct {
	Hash    string    `json:"hash"`
	Account string    `json:"account"`
	At      time.Time `json:"at"`
}

func (Issued) apikeyEvent() {}

// State is the account of a key, "" for a key that was never issued.
type State struct{ Account string }

// Evolve folds an event into the state.
func Evolve(s State, event Event) State {
	if e, ok := event.(Issued); ok {
		s.Account = e.Account
	}
	return s
}

// Issue issues a key to an account. Issuing it to the same account again has no effect.
type Issue Issued

// Decide refuses a key that was issued to another account.
func (c Issue) Decide(s State) ([]Event, error) {
	switch s.Account {
	case "":
		return []Event{Issued(c)}, nil
	case c.Account:
		return nil, nil
	}
	return nil, domain.Refuse(domain.Conflict, "The API key was issued to another account")
}
