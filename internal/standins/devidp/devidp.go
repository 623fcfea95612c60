// Package devidp is an identity provider for development. Whoever opens its login page is whom they say they are; so it
// serves loopback only. The page has a switch for each way in which a sign-in can fail.
package devidp

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/recital-tts/recital/internal/standins"
)

// ClientID is the only client of all issuers.
const ClientID = standins.ClientID

// Server serves an issuer for each of some names, on one address.
type Server struct {
	base   string // its URL
	names  map[string]bool
	home   string // where clients may be, beside loopback; "" for nowhere
	secret string
	signer jose.Signer
	forger jose.Signer // has another key under the same name
	keys   jose.JSONWebKeySet
	server *http.Server
	ln     net.Listener

	mu     sync.Mutex
	grants map[string]grant // by code, then by access token
}

// New returns a Server with an issuer for each name. home is the host of a client that is not on loopback, "" for none.
// An empty client secret is replaced by a random one.
func New(ln net.Listener, names []string, home, secret string) (*Server, error) {
	s := &Server{
		base: "http://" + ln.Addr().String(), names: map[string]bool{}, home: home, secret: cmp.Or(secret, draw()),
		ln: ln, grants: map[string]grant{},
	}
	for _, name := range names {
		s.names[name] = true
	}
	var err error
	if s.signer, err = s.newSigner(true); err != nil {
		return nil, err
	}
	if s.forger, err = s.newSigner(false); err != nil {
		return nil, err
	}
	s.server = &http.Server{
		Handler: s.handler(), ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
	}
	return s, nil
}

// newSigner draws a key. All have the same name, but only one is published.
func (s *Server) newSigner(published bool) (jose.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("drawing a key of the identity provider: %w", err)
	}
	const id = "dev"
	if published {
		s.keys.Keys = append(s.keys.Keys, jose.JSONWebKey{
			Key: key.Public(), KeyID: id, Algorithm: string(jose.ES256), Use: "sig",
		})
	}
	signer, err := jose.NewSigner(jose.SigningKey{
		Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: id},
	}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return nil, fmt.Errorf("preparing the identity provider: %w", err)
	}
	return signer, nil
}

// URL returns the base URL of the issuers.
func (s *Server) URL() string { return s.base }

// Issuer returns the issuer of a name.
func (s *Server) Issuer(name string) string { return s.base + "/" + name }

// ClientSecret returns the secret of the client.
func (s *Server) ClientSecret() string { return s.secret }

// Run serves until Close.
func (s *Server) Run(context.Context) error {
	if err := s.server.Serve(s.ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Close ends Run.
func (s *Server) Close() error { return s.server.Close() }

func draw() string {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	return hex.EncodeToString(random[:])
}

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
