// Package devidp is an identity provider for development. Whoever opens its login page is whom they say they are; so it
// serves loopback only. The page has a switch for each way in which a sign-in can fail.
package devidp

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/recital-tts/recital/internal/providers/signin"
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

// Listen listens on a loopback address, or on a free port of it when the port is taken.
func Listen(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("the address of the identity provider is not HOST:PORT: %w", err)
	}
	if !signin.IsLoopback(address) {
		return nil, errors.New("the identity provider for development serves on loopback only")
	}
	ln, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		ln, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return nil, fmt.Errorf("listening for the identity provider: %w", err)
	}
	return ln, nil
}

// New returns a Server with an issuer for each name. home is the host of a client that is not on loopback, "" for none.
// An empty client secret is replaced by a random one.
func New(ln net.Listener, names []string, home, secret string) (*Server, error) {
	s := &Server{base: "http://" + ln.Addr().String(), names: map[string]bool{}, home: home, secret: cmp.Or(secret, draw()), ln: ln, grants: map[string]grant{}}
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
	s.server = &http.Server{Handler: s.handler(), ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
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
		s.keys.Keys = append(s.keys.Keys, jose.JSONWebKey{Key: key.Public(), KeyID: id, Algorithm: string(jose.ES256), Use: "sig"})
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: id}}, (&jose.SignerOptions{}).WithType("JWT"))
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
