package session

import (
	"time"

	"github.com/recital-tts/recital/domain"
)

// Use records that a session is in use, and replaces its secret if that is old. Most uses have no effect.
type Use struct {
	Shown  string        // hash of the secret in the request
	Next   string        // hash of a newly drawn secret
	Rotate time.Duration // age at which a secret is replaced
	At     time.Time
}

// ErrInvalid refuses a secret that is not of a live session.
var ErrInvalid error = domain.Refuse(domain.Unauthenticated, "Invalid session")

// Decide refuses a session that has ended. A former secret is not replaced, because the next one was sent already.
func (c Use) Decide(s State) ([]Event, error) {
	if !s.Exists() || s.Ended || !s.Admits(c.Shown, c.At) {
		return nil, ErrInvalid
	}
	if s.mayRotate(c.Shown, c.At, c.Rotate) {
		return []Event{Rotated{
			Session: s.Session, Account: s.Account, SecretHash: c.Next, FormerHash: s.SecretHash,
			CrossSite: s.CrossSite, OpenedAt: s.OpenedAt, ExpiresAt: s.ExpiresAt, At: c.At,
		}}, nil
	}
	if s.maySee(c.At) {
		return []Event{Seen{Session: s.Session, Account: s.Account, At: c.At}}, nil
	}
	return nil, nil
}

// Due reports whether a use would have an effect. Other uses need not be executed.
func (s State) Due(shown string, at time.Time, rotate time.Duration) bool {
	return s.maySee(at) || s.mayRotate(shown, at, rotate)
}

func (s State) maySee(at time.Time) bool { return at.Sub(s.SeenAt) >= SeenEvery }

func (s State) mayRotate(shown string, at time.Time, after time.Duration) bool {
	return at.Sub(s.RotatedAt) >= after && same(s.SecretHash, shown)
}
