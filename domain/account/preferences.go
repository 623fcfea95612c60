package account

import "time"

// AcceptTerms accepts the terms of service. Accepting them again has no effect.
type AcceptTerms struct{ At time.Time }

// Decide refuses an account that is not open.
func (c AcceptTerms) Decide(s State) ([]Event, error) {
	if err := s.requireOpen(); err != nil || s.TermsAccepted {
		return nil, err
	}
	return []Event{TermsAccepted{Account: s.Account, At: c.At}}, nil
}

// SetEmailPreferences sets whether the owner wants e-mail.
type SetEmailPreferences struct {
	WantsEmail bool
	At         time.Time
}

// Decide refuses an account that is not open.
func (c SetEmailPreferences) Decide(s State) ([]Event, error) {
	if err := s.requireOpen(); err != nil {
		return nil, err
	}
	if s.WantsEmail != nil && *s.WantsEmail == c.WantsEmail {
		return nil, nil
	}
	return []Event{EmailPreferencesSet{Account: s.Account, WantsEmail: c.WantsEmail, At: c.At}}, nil
}
