package signin

import "context"

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
