package signin

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/recital-tts/recital/domain"
)

// Errors of Flow.
var (
	// ErrUnusable means that a state does not belong to an unfinished sign-in of this browser at this provider.
	ErrUnusable = errors.New("the state is not that of a sign-in under way")
	// ErrNoProvider means that there is no provider with a name.
	ErrNoProvider = errors.New("there is no such provider")
	// ErrRedirect means that a redirect is to an origin that is not allowed, or is too long.
	ErrRedirect = errors.New("the redirect is to an origin that is not allowed, or too long")
)

// Flow is the authorization code flow of OpenID Connect, from the side of the relying party: with PKCE, a state that is
// bound to the browser, a nonce, and the check that the answer comes from the right provider (RFC 9700, 2.1 and 4.4).
// Only the browser stores an unfinished sign-in, sealed, so that unauthenticated clients cannot fill a store by
// beginning sign-ins.
type Flow struct {
	Providers map[string]Provider // by their names in the interface
	Origins   Origins
	Key       []byte // of 32 bytes, the same on all instances; seals the browsers' data
	Now       func() time.Time
}

// Beginning is the data with which a browser begins a sign-in.
type Beginning struct {
	Provider  string
	Redirect  string // final address of the browser: at an origin of Flow.Origins or at Callback's
	UTMSource string
	Callback  string // our URL that the provider sends the browser back to
}

// Begun is a sign-in that has begun.
type Begun struct {
	Location string // the provider's URL for the browser
	State    string // returned by the browser
	Kept     string // stored by the browser for Lifetime; only Flow can read or create it
}

// Begin begins a sign-in. Errors: ErrNoProvider, ErrRedirect; any other one is a Failure for the redirect.
func (f *Flow) Begin(ctx context.Context, b Beginning) (Begun, error) {
	redirect, ok := f.Origins.Admit(b.Redirect, b.Callback)
	if !ok {
		return Begun{}, ErrRedirect
	}
	provider, ok := f.Providers[b.Provider]
	if !ok {
		return Begun{}, ErrNoProvider
	}
	challenge := Challenge{Callback: b.Callback, State: drawToken(), Nonce: drawToken(), Verifier: drawToken()}
	location, err := provider.Address(ctx, challenge)
	if err != nil {
		return Begun{}, fmt.Errorf("beginning a sign-in: %w", err)
	}
	kept, err := f.seal(pending{
		State: challenge.State, Nonce: challenge.Nonce, Verifier: challenge.Verifier,
		Provider: b.Provider, Redirect: redirect, UTMSource: b.UTMSource, Until: f.Now().Add(Lifetime),
	})
	if err != nil {
		return Begun{}, err
	}
	return Begun{Location: location, State: challenge.State, Kept: kept}, nil
}

// Answer is the data that a browser brings back from a provider.
type Answer struct {
	Provider string // of the callback
	Callback string // its URL, the same as at the beginning
	State    string
	Kept     string // the browser's part of the sign-in with this state
	Issuer   string // of the answer (RFC 9207), or ""
	Error    string // the provider's refusal, "" for none
	Code     string
}

// Answered is a sign-in after the provider's answer.
type Answered struct {
	Redirect  string // URL for the browser
	UTMSource string
	Person    Person // unless there is an error
}

// Finish completes a sign-in with an answer. The browser must then drop the sign-in, because a provider accepts a code
// only once. Errors: ErrUnusable; any other one is a Failure for the Redirect, which is returned with it.
func (f *Flow) Finish(ctx context.Context, a Answer) (Answered, error) {
	begun, ok := f.open(a.Kept)
	provider := f.Providers[a.Provider]
	if !ok || begun.State != a.State || begun.Provider != a.Provider || provider == nil {
		return Answered{}, fmt.Errorf("ending a sign-in: %w", ErrUnusable)
	}
	answered := Answered{Redirect: begun.Redirect, UTMSource: begun.UTMSource}
	if err := provider.CheckIssuer(ctx, a.Issuer); err != nil {
		return answered, err
	}
	if a.Error != "" {
		return answered, Fail(reasonOfProvider(a.Error), "the provider has refused")
	}
	var err error
	answered.Person, err = provider.Redeem(ctx, a.Code, Challenge{
		Callback: a.Callback, Nonce: begun.Nonce, Verifier: begun.Verifier,
	})
	return answered, err
}

// reasonOfProvider returns the reason of a provider's error. Unknown codes are not repeated.
func reasonOfProvider(code string) Reason {
	switch reason := Reason(code); reason {
	case AccessDenied, Unavailable:
		return reason
	case "login_required", "consent_required", "interaction_required", "account_selection_required":
		return AccessDenied
	}
	return ServerError
}

// drawToken returns 256 random bits in base64url, which is also valid as a PKCE verifier (RFC 7636, 4.1).
func drawToken() string {
	var token [32]byte
	_, _ = rand.Read(token[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(token[:])
}

// Reason is the reason of a failed sign-in, as in the parameter error of the redirect.
type Reason string

// The reasons. The ones of RFC 6749, 4.1.2.1, keep their names.
const (
	AccessDenied Reason = "access_denied"           // the person, or the provider, has refused
	Unavailable  Reason = "temporarily_unavailable" // a required part does not answer; a later sign-in may succeed
	ServerError  Reason = "server_error"            // something is broken, here or at the provider
	// The provider's answer does not belong to this sign-in, or is not authentic.
	InvalidAnswer   Reason = "invalid_answer"
	NoProfile       Reason = "profile_incomplete" // the provider gives no name or no e-mail address
	EmailUnverified Reason = "email_unverified"   // the provider has not verified the e-mail address
	NotUnderWay     Reason = "not_under_way"      // ErrUnusable; without a known redirect
)

// Reasons returns all reasons, sorted.
func Reasons() []Reason { return slices.Sorted(maps.Keys(texts)) }

// texts are the sentences for a page.
var texts = map[Reason]string{
	AccessDenied:    "The sign-in was cancelled or refused",
	Unavailable:     "Signing in is not possible now; try again later",
	ServerError:     "The sign-in has failed",
	InvalidAnswer:   "The answer of the identity provider is not valid; begin again",
	NoProfile:       "The identity provider gives no name or no e-mail address",
	EmailUnverified: "The e-mail address is not verified at the identity provider",
	NotUnderWay:     "This sign-in has ended or expired, or was begun in another browser; begin again",
}

// Failure is a failed sign-in with a reason for the person. Detail is for the log, without secrets and personal data.
type Failure struct {
	Reason Reason
	Detail string
}

// Error returns the reason and the detail.
func (f *Failure) Error() string { return fmt.Sprintf("%s: %s", f.Reason, f.Detail) }

// Fail returns a Failure.
func Fail(reason Reason, detail string) error { return &Failure{Reason: reason, Detail: detail} }

// ReasonOf returns the reason of an error that ended a sign-in.
func ReasonOf(err error) Reason {
	var failure *Failure
	switch {
	case errors.As(err, &failure):
		return failure.Reason
	case errors.Is(err, ErrUnusable):
		return NotUnderWay
	case domain.CodeOf(err) == domain.Unavailable:
		return Unavailable
	}
	return ServerError
}

// Text returns a sentence for a page.
func (r Reason) Text() string { return texts[r] }

// WithReason adds the reason of a failed sign-in to a redirect, as error and error_description.
func WithReason(redirect string, reason Reason) string {
	u, err := url.Parse(redirect)
	if err != nil {
		return redirect // cannot be: it was admitted
	}
	query := u.Query()
	query.Set("error", string(reason))
	query.Set("error_description", reason.Text())
	u.RawQuery = query.Encode()
	return u.String()
}
