package voice

import (
	"time"

	"github.com/recital-tts/recital/domain"
)

// MaxRecordings is the maximum number of files for a voice.
const MaxRecordings = 20

// Create creates a voice. Creating it again has no effect.
type Create Created

// Decide refuses an incomplete voice, and an abandoned id.
func (c Create) Decide(s State) ([]Event, error) {
	switch {
	case !ValidID(c.Voice), c.Account == "", c.Type != Instant && c.Type != Professional, len(c.Sealed) == 0:
		return nil, domain.Refuse(domain.Invalid, "A voice needs an id, an account, a type and a profile that is sealed")
	case len(c.Recordings) == 0, len(c.Recordings) > MaxRecordings:
		return nil, domain.Refuse(domain.Invalid, "A voice is made from 1 to 20 files")
	case s.Abandoned, s.Phase != "" && (s.Account != c.Account || s.Recordings[0] != c.Recordings[0]):
		return nil, domain.Refuse(domain.Conflict, "The voice was given up; create it again")
	case s.Phase != "":
		return nil, nil
	}
	return []Event{Created(c)}, nil
}

// Abandon prevents the later creation of a voice after its creation was cut short.
type Abandon Abandoned

// Decide returns no event for a voice that was created.
func (c Abandon) Decide(s State) ([]Event, error) {
	if s.Phase != "" || s.Abandoned {
		return nil, nil
	}
	return []Event{Abandoned(c)}, nil
}

// ErrNotFound refuses a voice that does not exist for the account: never created, deleted, or another account's.
var ErrNotFound error = domain.Refuse(domain.NotFound, "There is no such voice")

// RequireOf refuses a voice that an account does not have.
func (s State) RequireOf(account string) error {
	if !s.Exists() || s.Account != account {
		return ErrNotFound
	}
	return nil
}

// Change replaces a client's description of a voice.
type Change struct {
	Account string
	Sealed  []byte // the whole Profile; empty to keep it
	At      time.Time
}

// Decide refuses a voice that the account does not have.
func (c Change) Decide(s State) ([]Event, error) {
	if err := s.RequireOf(c.Account); err != nil || len(c.Sealed) == 0 {
		return nil, err
	}
	return []Event{Changed{Voice: s.Voice, Account: s.Account, Sealed: c.Sealed, At: c.At}}, nil
}
