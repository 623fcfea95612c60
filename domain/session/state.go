package session

import (
	"crypto/subtle"
	"time"
)

const (
	// SeenEvery is the minimum time between two Seen events of a session.
	SeenEvery = 5 * time.Minute
	// Overlap is the time for which the former secret is valid, for requests that were on their way.
	Overlap = time.Minute
)

// State is the state on which a session is decided. The zero State is a session that was never opened.
type State struct {
	Session    string
	Account    string
	SecretHash string
	FormerHash string // of the secret before it, "" for the first one
	CrossSite  bool   // the page that uses the session is on another site than the service
	OpenedAt   time.Time
	SeenAt     time.Time
	RotatedAt  time.Time // when SecretHash became valid
	ExpiresAt  time.Time
	Ended      bool
}

// Exists reports whether the session was opened.
func (s State) Exists() bool { return s.Session != "" }

// Live reports whether the session has neither ended nor expired, and was used in the last idle.
func (s State) Live(at time.Time, idle time.Duration) bool {
	return s.Exists() && !s.Ended && at.Before(s.ExpiresAt) && at.Sub(s.SeenAt) < idle
}

// Admits reports whether the hash is of a valid secret of the session.
func (s State) Admits(secretHash string, at time.Time) bool {
	return same(s.SecretHash, secretHash) || same(s.FormerHash, secretHash) && at.Sub(s.RotatedAt) < Overlap
}

// Replaced reports whether the hash is of the last replaced secret.
func (s State) Replaced(secretHash string) bool { return same(s.FormerHash, secretHash) }

func same(known, given string) bool {
	return known != "" && subtle.ConstantTimeCompare([]byte(known), []byte(given)) == 1
}

// Evolve folds an event into the state.
func Evolve(s State, event Event) State {
	switch e := event.(type) {
	case Opened:
		return State{
			Session: e.Session, Account: e.Account, SecretHash: e.SecretHash, CrossSite: e.CrossSite,
			OpenedAt: e.At, SeenAt: e.At, RotatedAt: e.At, ExpiresAt: e.ExpiresAt,
		}
	case Seen:
		s.SeenAt = e.At
	case Rotated:
		return State{
			Session: e.Session, Account: e.Account, SecretHash: e.SecretHash, FormerHash: e.FormerHash, CrossSite: e.CrossSite,
			OpenedAt: e.OpenedAt, SeenAt: e.At, RotatedAt: e.At, ExpiresAt: e.ExpiresAt,
		}
	case Ended:
		s.Ended = true
	}
	return s
}

// ReplacesState implements domain.Snapshot.
func (Rotated) ReplacesState() {}
