package devidp

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"time"
)

// fault is a way in which a sign-in fails, "" for none.
type fault string

// The faults, in the order of the login page.
const (
	noFault         fault = ""
	accessDenied    fault = "access_denied"
	providerError   fault = "server_error"
	noName          fault = "no_name"
	noEmail         fault = "no_email"
	emailUnverified fault = "email_unverified"
	otherUserInfo   fault = "other_user_info"
	wrongState      fault = "wrong_state"
	otherIssuer     fault = "other_issuer"
	usedCode        fault = "used_code"
	tokenError      fault = "token_error"
	wrongNonce      fault = "wrong_nonce"
	wrongIssuer     fault = "wrong_issuer"
	wrongAudience   fault = "wrong_audience"
	wrongParty      fault = "wrong_party"
	expired         fault = "expired"
	badSignature    fault = "bad_signature"
)

// faults are what the page says of each.
var faults = []struct {
	Fault fault
	Says  string
}{
	{noFault, "nothing"},
	{accessDenied, "the person refuses"},
	{providerError, "the provider answers with an error"},
	{noName, "there is no name"},
	{noEmail, "there is no e-mail address"},
	{emailUnverified, "the e-mail address is not verified"},
	{otherUserInfo, "the user info is about somebody else"},
	{wrongState, "the state is another one"},
	{otherIssuer, "another issuer answers"},
	{usedCode, "the code was used before"},
	{tokenError, "the token endpoint fails"},
	{wrongNonce, "the ID token has another nonce"},
	{wrongIssuer, "the ID token is of another issuer"},
	{wrongAudience, "the ID token is for another client"},
	{wrongParty, "the ID token was made for another party"},
	{expired, "the ID token has expired"},
	{badSignature, "the ID token's signature is forged"},
}

// person is who signs in.
type person struct{ Name, Email, Picture string }

// subject is the same for the same e-mail address.
func (p person) subject() string {
	sum := sha256.Sum256([]byte(strings.ToLower(p.Email)))
	return hex.EncodeToString(sum[:8])
}

// grant is what a person has permitted to the client: first a code stands for it, then an access token.
type grant struct {
	name      string // of the issuer
	person    person
	fault     fault
	redirect  string
	nonce     string
	challenge string // PKCE, S256
	expiresAt time.Time
}

// answers reports whether a PKCE verifier is that of the grant.
func (g grant) answers(verifier string) bool {
	sum := sha256.Sum256([]byte(verifier))
	return subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(g.challenge)) == 1
}

// maxGrants bounds the memory that a page in a loop can take.
const maxGrants = 10_000

// keep returns a new token that stands for a grant.
func (s *Server) keep(g grant, lifetime time.Duration) string {
	token, now := draw(), time.Now()
	g.expiresAt = now.Add(lifetime)
	s.mu.Lock()
	defer s.mu.Unlock()
	for other, kept := range s.grants {
		if now.After(kept.expiresAt) || len(s.grants) >= maxGrants {
			delete(s.grants, other)
		}
	}
	s.grants[token] = g
	return token
}

// take returns a grant, whose token is then used up.
func (s *Server) take(token, name string) (grant, bool) {
	g, ok := s.find(token, name)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.grants, token)
	return g, ok
}

func (s *Server) find(token, name string) (grant, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.grants[token]
	return g, ok && g.name == name && time.Now().Before(g.expiresAt)
}
