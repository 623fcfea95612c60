package account_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/spec"
)

type (
	row    = spec.Case[account.State, account.Event]
	events = []account.Event
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func opened() account.Event {
	return account.Opened{Account: "a1", Plan: plan.Free, At: noon}
}

func key(hash, masked string) account.Event {
	return account.APIKeyCreated{Account: "a1", Hash: hash, Masked: masked, Issued: true, At: noon}
}

func revoked(hash, masked string) account.Event {
	return account.APIKeyRevoked{Account: "a1", Hash: hash, Masked: masked, At: noon}
}

func TestOpen(t *testing.T) {
	spec.Run(t, account.Evolve, []row{
		{Name: "an account opens on its plan", When: account.Open{Account: "a1", Plan: plan.Free, At: noon}, Then: events{opened()}},
		{Name: "opening it again changes nothing", Given: events{opened()}, When: account.Open{Account: "a1", Plan: plan.Free, At: noon.Add(1)}},
		{Name: "it cannot be opened again on another plan", Given: events{opened()},
			When: account.Open{Account: "a1", Plan: plan.Pro, At: noon}, Refused: domain.Conflict},
		{Name: "the plan must be known", When: account.Open{Account: "a1", Plan: "golden", At: noon}, Refused: domain.Invalid},
	})
}

func TestCreateAPIKey(t *testing.T) {
	full := events{opened()}
	for i := range account.MaxKeys {
		full = append(full, key(fmt.Sprint("h", i), fmt.Sprint("m", i)))
	}
	spec.Run(t, account.Evolve, []row{
		{Name: "a key is added", Given: events{opened()}, When: account.CreateAPIKey{Hash: "h1", Masked: "m1", At: noon}, Then: events{key("h1", "m1")}},
		{Name: "adding it again changes nothing", Given: events{opened(), key("h1", "m1")}, When: account.CreateAPIKey{Hash: "h1", Masked: "m1", At: noon}},
		{Name: "masked forms are unique", Given: events{opened(), key("h1", "m1")},
			When: account.CreateAPIKey{Hash: "h2", Masked: "m1", At: noon}, Refused: domain.Conflict},
		{Name: "the number of keys is bounded", Given: full, When: account.CreateAPIKey{Hash: "h", Masked: "m", At: noon}, Refused: domain.Denied},
		{Name: "a revoked key never comes back", Given: events{opened(), key("h1", "m1"), key("h2", "m2"), revoked("h1", "m1"), revoked("h2", "m2")},
			When: account.CreateAPIKey{Hash: "h1", Masked: "m1", At: noon}, Refused: domain.Denied},
		{Name: "another key may look like a revoked one", Given: events{opened(), key("h1", "m1"), revoked("h1", "m1")},
			When: account.CreateAPIKey{Hash: "h2", Masked: "m1", At: noon}, Then: events{key("h2", "m1")}},
		{Name: "a revoked key makes room for another", Given: append(full[:len(full):len(full)], revoked("h3", "m3")),
			When: account.CreateAPIKey{Hash: "h", Masked: "m", At: noon}, Then: events{key("h", "m")}},
		{Name: "there must be an account", When: account.CreateAPIKey{Hash: "h1", Masked: "m1", At: noon}, Refused: domain.NotFound},
	})
}

func TestRevokeAPIKey(t *testing.T) {
	two := events{opened(), key("h1", "m1"), key("h2", "m2")}
	spec.Run(t, account.Evolve, []row{
		{Name: "a key is revoked", Given: two, When: account.RevokeAPIKey{Masked: "m1", At: noon}, Then: events{revoked("h1", "m1")}},
		{Name: "the last key, too", Given: append(two[:3:3], revoked("h1", "m1")), When: account.RevokeAPIKey{Masked: "m2", At: noon},
			Then: events{revoked("h2", "m2")}},
		{Name: "not a second time", Given: append(two[:3:3], revoked("h1", "m1")), When: account.RevokeAPIKey{Masked: "m1", At: noon}, Refused: domain.NotFound},
		{Name: "of two that look alike, the one that lives", Given: append(two[:3:3], revoked("h1", "m1"), key("h3", "m1")),
			When: account.RevokeAPIKey{Masked: "m1", At: noon}, Then: events{revoked("h3", "m1")}},
		{Name: "not one that never was", Given: two, When: account.RevokeAPIKey{Masked: "m3", At: noon}, Refused: domain.NotFound},
		{Name: "not where no account is", When: account.RevokeAPIKey{Masked: "m1", At: noon}, Refused: domain.NotFound},
	})
}
