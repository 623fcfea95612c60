package credentials

import (
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/plan"
)

// Kind is a kind of credential.
type Kind string

// APIKey is the kind of API keys.
const APIKey Kind = "api key"

// Credential names a credential without its secret.
type Credential struct {
	Account string
	Kind    Kind
	Name    string // of an API key: its masked form, which is unique among the account's valid keys
}

// Verified is a valid credential, and what goes with it.
type Verified struct {
	Credential
	Plan plan.Type // of the account
}

// ErrUnknownKey is returned for an API key that never existed or was revoked.
var ErrUnknownKey error = domain.Refuse(domain.Unauthenticated, "Invalid API key")
