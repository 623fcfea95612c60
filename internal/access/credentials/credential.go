package credentials

import (
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/session"
)

// Kind is a kind of credential.
type Kind string

// The kinds of credentials.
const (
	APIKey  Kind = "api key"
	Session Kind = "session" // of a browser
)

// Credential names a credential without its secret.
type Credential struct {
	Account string
	Kind    Kind
	Name    string // of an API key: its masked form, which is unique among the account's valid keys; of a session: its id
}

// Verified is a valid credential, and what goes with it.
type Verified struct {
	Credential
	Entitlement plan.Entitlement // of the account
	Operator    bool             // the account has the role
	Session     session.State    // where it is one
}

// ErrUnknownKey is returned for an API key that never existed or was revoked.
var ErrUnknownKey error = domain.Refuse(domain.Unauthenticated, "Invalid API key")

// ErrUnknownSession is returned for a session that never existed, has ended or expired, or has another secret.
var ErrUnknownSession error = session.ErrInvalid
