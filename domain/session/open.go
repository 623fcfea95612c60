package session

import "github.com/recital-tts/recital/domain"

// Open opens a session. Opening it again has no effect.
type Open Opened

// Decide refuses a session that could never be used, and the id of another session.
func (c Open) Decide(s State) ([]Event, error) {
	switch {
	case c.Session == "", c.Account == "", c.SecretHash == "", !c.ExpiresAt.After(c.At):
		return nil, domain.Refuse(domain.Invalid, "A session needs an id, an account, a secret and time")
	case s.Exists() && s.SecretHash == c.SecretHash && s.Account == c.Account:
		return nil, nil
	case s.Exists():
		return nil, domain.Refuse(domain.Conflict, "There is such a session already")
	}
	return []Event{Opened(c)}, nil
}
