package session

import (
	"time"

	"github.com/recital-tts/recital/domain"
)

// End ends a session of an account.
type End struct {
	Account string
	Reason  Reason
	At      time.Time
}

// Decide refuses a session that the account does not have, or no longer has.
func (c End) Decide(s State) ([]Event, error) {
	if !s.Exists() || s.Account != c.Account || s.Ended {
		return nil, domain.Refuse(domain.NotFound, "There is no such session")
	}
	return []Event{Ended{Session: s.Session, Account: s.Account, Reason: c.Reason, At: c.At}}, nil
}

// Expire ends a session at its expiry.
type Expire struct{ At time.Time }

// Decide returns no event before the expiry, or for a session that has ended.
func (c Expire) Decide(s State) ([]Event, error) {
	if !s.Exists() || s.Ended || c.At.Before(s.ExpiresAt) {
		return nil, nil
	}
	return []Event{Ended{Session: s.Session, Account: s.Account, Reason: Expired, At: c.At}}, nil
}
