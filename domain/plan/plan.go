// Package plan defines the plans that an account can be on.
package plan

import (
	"github.com/recital-tts/recital/domain"
)

// Type is the name of a plan, as in AccountResponse.plan.type.
type Type string

// The plans.
const (
	Free       Type = "free"
	Indie      Type = "indie"
	Pro        Type = "pro"
	Premium    Type = "premium"
	Enterprise Type = "enterprise"
)

// Plan is the contents of a plan in one period.
type Plan struct {
	Type          Type
	Characters    int64 // included Unicode code points; 0 with Unlimited
	Unlimited     bool  // no limit at all
	Metered       bool  // beyond Characters the account is billed; otherwise it is refused
	CommercialUse bool

	InstantVoices, ProfessionalVoices int // of the account's own; 0 with Unlimited
}

// Lookup returns the plan of a type, or domain.Invalid.
func Lookup(t Type) (Plan, error) {
	p, found := domain.First(All(), func(p Plan) bool { return p.Type == t })
	if !found {
		return p, domain.Refuse(domain.Invalid, "Unknown plan: it is one of free, indie, pro, premium or enterprise")
	}
	return p, nil
}

// All returns the plans from the smallest to the largest.
func All() []Plan {
	return []Plan{
		{Type: Free, Characters: 15_000, InstantVoices: 5},
		{Type: Indie, Characters: 200_000, Metered: true, CommercialUse: true, InstantVoices: 50, ProfessionalVoices: 1},
		{Type: Pro, Characters: 1_250_000, Metered: true, CommercialUse: true, InstantVoices: 200, ProfessionalVoices: 5},
		{Type: Premium, Characters: 5_700_000, Metered: true, CommercialUse: true, InstantVoices: 1000,
			ProfessionalVoices: 10},
		{Type: Enterprise, Unlimited: true, CommercialUse: true},
	}
}
