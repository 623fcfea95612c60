package identity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/identity"
	"github.com/recital-tts/recital/domain/spec"
)

type (
	row    = spec.Case[identity.State, identity.Event]
	events = []identity.Event
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func claim(account string) identity.Claim {
	return identity.Claim{Identity: "i1", Account: account, Provider: "idp_1", SealedUTMSource: []byte("letter"), At: noon}
}

func release(account string, free *identity.FreePeriod) identity.Release {
	return identity.Release{Identity: "i1", Account: account, FreePeriod: free, At: noon.Add(time.Hour)}
}

var (
	claimed  = identity.Claimed(claim("a1"))
	half     = &identity.FreePeriod{Start: noon, End: noon.AddDate(0, 1, 0), Used: 7500}
	released = identity.Released(release("a1", half))
)

func TestClaim(t *testing.T) {
	spec.Run(t, identity.Evolve, []row{
		{Name: "an identity gets an account", When: claim("a1"), Then: events{claimed}},
		{Name: "it keeps the one that it has", Given: events{claimed}, When: claim("a2")},
		{Name: "once that was closed, it gets another", Given: events{claimed, released}, When: claim("a2"),
			Then: events{identity.Claimed(claim("a2"))}},
		{Name: "there must be an account", When: claim(""), Refused: domain.Invalid},
		{Name: "there must be an identity", When: identity.Claim{Account: "a1", At: noon}, Refused: domain.Invalid},
	})
}

func TestRelease(t *testing.T) {
	spec.Run(t, identity.Evolve, []row{
		{Name: "an identity's account is released", Given: events{claimed}, When: release("a1", half),
			Then: events{released}},
		{Name: "once", Given: events{claimed, released}, When: release("a1", half)},
		{Name: "only the one that it has", Given: events{claimed, released, identity.Claimed(claim("a2"))},
			When: release("a1", half)},
		{Name: "an identity without an account has none to release", When: release("a1", half)},
		{Name: "nor has no account", When: release("", half)},
	})
}

func TestAnIdentityRemembersTheFreePeriodThatItHasBegun(t *testing.T) {
	again := identity.Claimed(claim("a2"))
	paid := identity.Released(release("a2", nil))
	for name, past := range map[string]events{
		"while it has no account":              {claimed, released},
		"once it has another":                  {claimed, released, again},
		"and when that one had no free period": {claimed, released, again, paid},
	} {
		require.Equal(t, half, spec.Fold(identity.Evolve, past).FreePeriod, name)
	}
	require.Nil(t, spec.Fold(identity.Evolve, events{claimed}).FreePeriod)
}
