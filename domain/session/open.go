package session

import (
	"time"

	"github.com/recital-tts/recital/domain"
)

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

// Client is the browser that signs in.
type Client struct {
	UserAgent string
	Address   string // its IP address
	Country   string // of the address, from a trusted edge; "" for none
	Provider  string // by which the person signed in, such as "idp_1"
	CrossSite bool   // the page that uses the session is on another site than the service
}

// Issued is a session that was just opened. Its cookie is not stored, so that this is the only time at which it is
// known.
type Issued struct {
	Cookie    string
	ID        string
	ExpiresAt time.Time
}
