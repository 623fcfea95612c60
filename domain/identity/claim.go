package identity

import "github.com/recital-tts/recital/domain"

// Claim gives an identity an account that is about to be opened. An identity that has an account keeps it.
type Claim Claimed

// Decide refuses a claim without an identity or an account.
func (c Claim) Decide(s State) ([]Event, error) {
	if c.Identity == "" || c.Account == "" {
		return nil, domain.Refuse(domain.Invalid, "A claim needs an identity and an account")
	}
	if s.Account != "" {
		return nil, nil
	}
	return []Event{Claimed(c)}, nil
}
