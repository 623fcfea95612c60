package account

import (
	"time"

	"github.com/recital-tts/recital/domain"
)

// RecordProfile records the owner's profile at the identity provider. An unchanged profile is not recorded again.
type RecordProfile struct {
	Name      []byte // sealed; see ProfileRecorded
	Email     []byte
	Picture   []byte
	EmailHash string
	Digest    string
	At        time.Time
}

// Decide refuses a profile without a name or an e-mail address, and an account that is not open.
func (c RecordProfile) Decide(s State) ([]Event, error) {
	if err := s.requireOpen(); err != nil {
		return nil, err
	}
	if len(c.Name) == 0 || len(c.Email) == 0 || c.EmailHash == "" || c.Digest == "" {
		return nil, domain.Refuse(domain.Invalid, "A profile has a name and an e-mail address")
	}
	if c.Digest == s.ProfileDigest {
		return nil, nil
	}
	return []Event{ProfileRecorded{
		Account: s.Account, Name: c.Name, Email: c.Email, Picture: c.Picture, EmailHash: c.EmailHash, Digest: c.Digest,
		At: c.At,
	}}, nil
}
