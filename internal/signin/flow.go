package signin

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"time"
)

// Flow is the authorization code flow of OpenID Connect, from the side of the relying party: with PKCE, a state of one
// use that is bound to the browser, a nonce, and the check that the answer comes from the provider that was asked (RFC
// 9700, 2.1 and 4.4).
type Flow struct {
	Providers  map[string]Provider // by their names in the interface
	States     States
	Origins    Origins
	PerAddress int    // how many sign-ins an address may have under way; 0 is no limit
	AddressKey []byte // the same on all instances: addresses are kept as HMACs, because what a database held remains on its disks
	Now        func() time.Time
}

// Beginning is what a browser begins a sign-in with.
type Beginning struct {
	Provider  string
	Redirect  string // where the browser goes in the end: to an origin of Flow.Origins or to that of Callback
	UTMSource string
	Callback  string // where the provider sends the browser back to, which is ours
	Browser   string // the value of the browser's cookie, "" for none
	Address   string // of the client
}

// Begun is a sign-in that has begun.
type Begun struct {
	Location string // where the browser goes now, which is the provider
	Browser  string // the value that the browser's cookie is to have for Lifetime
}

// Begin begins a sign-in. Errors: ErrNoProvider, ErrRedirect, ErrTooMany; every other one belongs to the redirect, and is a
// Failure or an error of States.
func (f *Flow) Begin(ctx context.Context, b Beginning) (Begun, error) {
	redirect, ok := f.Origins.Admit(b.Redirect, b.Callback)
	if !ok {
		return Begun{}, ErrRedirect
	}
	provider, ok := f.Providers[b.Provider]
	if !ok {
		return Begun{}, ErrNoProvider
	}
	browser := b.Browser
	if !isToken(browser) {
		browser = drawToken()
	}
	challenge := Challenge{Callback: b.Callback, State: drawToken(), Nonce: drawToken(), Verifier: drawToken()}
	location, err := provider.Address(ctx, challenge)
	if err != nil {
		return Begun{}, fmt.Errorf("beginning a sign-in: %w", err)
	}
	source, err := veil(challenge.State, b.UTMSource)
	if err != nil {
		return Begun{}, fmt.Errorf("beginning a sign-in: %w", err)
	}
	now := f.Now()
	err = f.States.Keep(ctx, Pending{
		State: sha256.Sum256([]byte(challenge.State)), Browser: sha256.Sum256([]byte(browser)), Address: f.mark(b.Address),
		Provider: b.Provider, Callback: b.Callback, Redirect: redirect, UTMSource: source,
		Nonce: challenge.Nonce, Verifier: challenge.Verifier, ExpiresAt: now.Add(Lifetime),
	}, f.PerAddress, now)
	if err != nil {
		return Begun{}, fmt.Errorf("beginning a sign-in: %w", err)
	}
	return Begun{Location: location, Browser: browser}, nil
}

// mark returns what is kept of an address: enough to count its sign-ins.
func (f *Flow) mark(address string) string {
	mac := hmac.New(sha256.New, f.AddressKey)
	mac.Write([]byte(address))
	return hex.EncodeToString(mac.Sum(nil))
}

// veil encrypts a text with a state, which the browser and the provider have, and no database.
func veil(state, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	cipher, err := veilOf(state)
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(cipher.Seal(nil, nil, []byte(text), nil)), nil
}

// unveil returns the text of veil, "" for anything else, such as what an earlier release has kept.
func unveil(state, veiled string) string {
	cipher, err := veilOf(state)
	if err != nil {
		return ""
	}
	sealed, err := base64.StdEncoding.DecodeString(veiled)
	if err != nil {
		return ""
	}
	text, _ := cipher.Open(nil, nil, sealed, nil) // nil where it is another's
	return string(text)
}

func veilOf(state string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(state), nil, "recital sign-in utm source", 32)
	if err != nil {
		return nil, fmt.Errorf("deriving a key from a state: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("deriving a key from a state: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Answer is what a browser brings back from a provider.
type Answer struct {
	Provider string // whose callback it is
	State    string
	Browser  string // the value of the browser's cookie
	Issuer   string // who answers (RFC 9207), "" where the provider does not say
	Error    string // the provider's refusal, "" for none
	Code     string
}

// Answered is a sign-in whose answer has come.
type Answered struct {
	Redirect  string // where the browser goes
	UTMSource string
	Person    Person // unless there is an error
}

// Finish takes an answer, and uses its state up unless another browser has brought it. Errors: ErrUnusable; every other one belongs to the
// Redirect, which is returned with it, and is a Failure or an error of States.
func (f *Flow) Finish(ctx context.Context, a Answer) (Answered, error) {
	pending, err := f.States.Take(ctx, sha256.Sum256([]byte(a.State)), sha256.Sum256([]byte(a.Browser)), f.Now())
	if err != nil {
		return Answered{}, fmt.Errorf("ending a sign-in: %w", err)
	}
	provider := f.Providers[a.Provider]
	if provider == nil || pending.Provider != a.Provider {
		return Answered{}, fmt.Errorf("ending a sign-in: it was begun at another provider: %w", ErrUnusable)
	}
	answered := Answered{Redirect: pending.Redirect, UTMSource: unveil(a.State, pending.UTMSource)}
	switch {
	case a.Issuer != "" && a.Issuer != provider.Issuer():
		return answered, Fail(InvalidAnswer, "another issuer has answered")
	case a.Error != "":
		return answered, Fail(reasonOfProvider(a.Error), "the provider has refused")
	}
	answered.Person, err = provider.Redeem(ctx, a.Code, Challenge{Callback: pending.Callback, Nonce: pending.Nonce, Verifier: pending.Verifier})
	return answered, err
}

// reasonOfProvider returns the reason of a provider's error. What is not known is not repeated.
func reasonOfProvider(code string) Reason {
	switch reason := Reason(code); reason {
	case AccessDenied, Unavailable:
		return reason
	case "login_required", "consent_required", "interaction_required", "account_selection_required":
		return AccessDenied
	}
	return ServerError
}

// tokenSize is the size of what nobody may guess, in bytes.
const tokenSize = 32

// drawToken draws 256 random bits, in base64url. So it can be a PKCE verifier, too (RFC 7636, 4.1).
func drawToken() string {
	var token [tokenSize]byte
	_, _ = rand.Read(token[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(token[:])
}

// isToken reports whether a string has the form of a drawn token.
func isToken(text string) bool {
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return err == nil && len(decoded) == tokenSize && len(text) == base64.RawURLEncoding.EncodedLen(tokenSize) // line breaks are skipped
}
