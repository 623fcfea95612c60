package account

import (
	"github.com/recital-tts/recital/domain"
)

// RecordProfile records the owner's profile at the identity provider. An unchanged profile is not recorded again. The
// account is the state's.
type RecordProfile ProfileRecorded

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
	c.Account = s.Account
	return []Event{ProfileRecorded(c)}, nil
}
