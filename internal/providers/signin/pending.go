// Package signin is the relying party's side of sign-in: it sends a browser to an identity provider and takes back whom
// the provider knows. The flow is here; its adapters are the subpackages: openid speaks to providers, and devidp is one
// for development.
package signin

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

const (
	// Lifetime is the maximum duration of a sign-in.
	Lifetime = 10 * time.Minute
	// maxBegun is the maximum number of a browser's unfinished sign-ins.
	maxBegun = 5
	// maxKept is the longest that a browser keeps of one sign-in, in bytes: browsers drop cookies of more than 4096.
	maxKept = 3900
	// maxKeptInAll bounds the sum of a browser's sign-ins. Long redirects must not fill its headers, of which proxies
	// accept 16 KiB.
	maxKeptInAll = 8 << 10
)

// pending is a sign-in that has begun.
type pending struct {
	State, Nonce, Verifier string
	Provider               string
	Redirect               string
	UTMSource              string `json:",omitempty"`
	Until                  time.Time
}

// seal returns the browser's part of a sign-in. The origin of the person is left out if there is no room for it.
func (f *Flow) seal(p pending) (string, error) {
	aead, err := f.aead()
	if err != nil {
		return "", err
	}
	var plain bytes.Buffer
	encoder := json.NewEncoder(&plain)
	encoder.SetEscapeHTML(false) // which would make a query longer
	if err := encoder.Encode(p); err != nil {
		return "", fmt.Errorf("encoding a sign-in: %w", err)
	}
	kept := base64.RawURLEncoding.EncodeToString(aead.Seal(nil, nil, plain.Bytes(), nil))
	switch {
	case len(kept) <= maxKept:
		return kept, nil
	case p.UTMSource == "":
		return "", ErrRedirect
	}
	p.UTMSource = ""
	return f.seal(p)
}

// open returns the sign-in that a browser has kept. ok is false if it was not sealed here, or has expired.
func (f *Flow) open(kept string) (p pending, ok bool) {
	aead, err := f.aead()
	if err != nil {
		return pending{}, false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(kept)
	if err != nil {
		return pending{}, false
	}
	plain, err := aead.Open(nil, nil, sealed, nil)
	if err != nil || json.Unmarshal(plain, &p) != nil {
		return pending{}, false
	}
	return p, f.Now().Before(p.Until)
}

func (f *Flow) aead() (cipher.AEAD, error) {
	block, err := aes.NewCipher(f.Key)
	if err != nil {
		return nil, fmt.Errorf("preparing the key of sign-ins: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Surplus returns the names of the sign-ins that a browser must drop when it begins one more: all expired ones, and the
// oldest of too many. kept holds its sign-ins by name.
func (f *Flow) Surplus(kept map[string]string, more string) (names []string) {
	until := map[string]time.Time{} // zero for what cannot be opened
	for name, sealed := range kept {
		if p, ok := f.open(sealed); ok {
			until[name] = p.Until
		}
	}
	newestFirst := slices.SortedFunc(maps.Keys(kept), func(a, b string) int { return until[b].Compare(until[a]) })
	number, size := 1, len(more)
	for _, name := range newestFirst {
		number, size = number+1, size+len(kept[name])
		if until[name].IsZero() || number > maxBegun || size > maxKeptInAll {
			names = append(names, name)
		}
	}
	return names
}

// Provider is an identity provider.
type Provider interface {
	// Address returns where a browser is sent to sign in. Errors: Failure.
	Address(ctx context.Context, c Challenge) (string, error)
	// CheckIssuer refuses an answer that is not the provider's by the issuer that it names (RFC 9207). It may name
	// none, "", only where the provider does not announce one. Errors: Failure.
	CheckIssuer(ctx context.Context, issuer string) error
	// Redeem exchanges the browser's code for a person that the provider vouches for. It has verified that the answer
	// belongs to the challenge. Errors: Failure.
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
