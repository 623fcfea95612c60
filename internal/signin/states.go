package signin

import (
	"context"
	"errors"
	"time"
)

// Lifetime is how long a sign-in may take.
const Lifetime = 10 * time.Minute

// Pending is a sign-in that has begun. State and Browser are hashes: reading them where they are kept does not let anybody
// complete a sign-in.
type Pending struct {
	State     [32]byte // SHA-256 of the state that is sent to the provider
	Browser   [32]byte // SHA-256 of the cookie of the browser that has begun
	Address   string   // HMAC of the client's, as it counts for limits
	Provider  string
	Callback  string
	Redirect  string
	UTMSource string // encrypted with the state
	Nonce     string
	Verifier  string
	ExpiresAt time.Time
}

// States keeps sign-ins that have begun.
type States interface {
	// Keep keeps a sign-in until it expires. An address may have so many that have not expired by now; 0 is no limit.
	// Errors: ErrTooMany.
	Keep(ctx context.Context, p Pending, perAddress int, now time.Time) error
	// Take removes a sign-in that a browser has begun, and returns it. What has expired, was taken before, or was begun by
	// another browser, is ErrUnusable.
	Take(ctx context.Context, state, browser [32]byte, now time.Time) (Pending, error)
	// Sweep removes what has expired.
	Sweep(ctx context.Context, now time.Time) error
}

// Errors of States and Flow.
var (
	// ErrTooMany means that an address has begun too many sign-ins.
	ErrTooMany = errors.New("too many sign-ins from one address have begun and not ended")
	// ErrUnusable means that a state is not that of a sign-in of this browser, at this provider, that can still end.
	ErrUnusable = errors.New("the state is not that of a sign-in under way")
	// ErrNoProvider means that there is no provider of a name.
	ErrNoProvider = errors.New("there is no such provider")
	// ErrRedirect means that a redirect is to an origin that is not allowed.
	ErrRedirect = errors.New("the redirect is to an origin that is not allowed")
)
