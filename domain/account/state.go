package account

import (
	"slices"
	"time"

	"github.com/recital-tts/recital/domain/plan"
)

// StreamPrefix is that of the streams of accounts: what follows it is the account's id.
const StreamPrefix = "account-"

// Stream is where an account is kept.
func Stream(id string) string { return StreamPrefix + id }

// State is what the decisions on an account need to know. The zero State is an account that was never opened.
type State struct {
	Account  string
	Plan     plan.Type
	OpenedAt time.Time
	Keys     []Key

	SinceSnapshot int // events

	revoked *revocation // the last one
}

// Key is an API key of the account.
type Key struct {
	Hash   string `json:"hash"`
	Masked string `json:"masked"`
}

// revocation is a key that was revoked. The list has the newest first and shares its tail with the states before, so that
// folding a long stream copies nothing.
type revocation struct {
	hash   string
	before *revocation
}

// Revoked reports whether the account had a key of this hash and it was revoked. Only a state that was folded from the
// whole stream knows every key that was ever revoked.
func (s State) Revoked(hash string) bool {
	for r := s.revoked; r != nil; r = r.before {
		if r.hash == hash {
			return true
		}
	}
	return false
}

// Exists reports whether the account was opened.
func (s State) Exists() bool { return s.Account != "" }

// Evolve folds an event into the state.
func Evolve(s State, event Event) State {
	s.SinceSnapshot++
	switch e := event.(type) {
	case Opened:
		s.Account, s.Plan, s.OpenedAt = e.Account, e.Plan, e.At
	case APIKeyCreated:
		s.Keys = append(slices.Clip(s.Keys), Key{Hash: e.Hash, Masked: e.Masked})
	case APIKeyRevoked:
		s.Keys = slices.DeleteFunc(slices.Clone(s.Keys), func(k Key) bool { return k.Hash == e.Hash })
		s.revoked = &revocation{hash: e.Hash, before: s.revoked}
	case SnapshotTaken:
		s = s.snapshot(e)
	}
	return s
}
