package account

import (
	"slices"
	"time"

	"github.com/recital-tts/recital/domain/plan"
)

// State is what the decisions on an account need to know. The zero State is an account that was never opened.
type State struct {
	Account  string
	Plan     plan.Type
	OpenedAt time.Time
	Keys     []Key
}

// Key is an API key of the account.
type Key struct {
	Hash   string
	Masked string
}

// Exists tells whether the account was opened.
func (s State) Exists() bool { return s.Account != "" }

// Evolve folds an event into the state.
func Evolve(s State, event Event) State {
	switch e := event.(type) {
	case Opened:
		s.Account, s.Plan, s.OpenedAt = e.Account, e.Plan, e.At
	case APIKeyCreated:
		s.Keys = append(slices.Clip(s.Keys), Key{Hash: e.Hash, Masked: e.Masked})
	}
	return s
}
