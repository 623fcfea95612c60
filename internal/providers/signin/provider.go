// Package signin is the relying party's side of sign-in: it sends a browser to an identity provider and takes back whom
// the provider knows. The flow is here; its adapters are the subpackages: openid speaks to providers, and devidp is one
// for development.
package signin

import (
	"context"
)

// Provider is an identity provider.
type Provider interface {
	// Address returns where a browser is sent to sign in. Errors: Failure.
	Address(ctx context.Context, c Challenge) (string, error)
	// CheckIssuer refuses an answer that is not the provider's by the issuer that it names (RFC 9207). It may name
	// none, "", only where the provider does not announce one. Errors: Failure.
	CheckIssuer(ctx context.Context, issuer string) error
	// Redeem exchanges the code that the browser has brought for the person that the provider vouches for. It returns
	// only what it has verified to belong to the challenge. Errors: Failure.
	Redeem(ctx context.Context, code string, c Challenge) (Person, error)
	// Issuer returns the provider's issuer.
	Issuer() string
}

// Challenge ties a provider's answer to one sign-in.
type Challenge struct {
	Callback string // where the provider sends the browser back to
	State    string // comes back with the browser; Redeem does not need it
	Nonce    string // comes back in the ID token
	Verifier string // the PKCE verifier (RFC 7636), which only the provider's token endpoint gets to see
}

// Person is somebody as an identity provider knows them. Issuer and Subject together identify the person; an e-mail
// address never does.
type Person struct {
	Issuer  string
	Subject string
	Name    string
	Email   string
	Picture string // an https URL, "" for none
}
