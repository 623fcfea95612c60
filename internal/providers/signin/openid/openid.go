// Package openid speaks to identity providers: OpenID Connect with discovery, by go-oidc. A provider's response is not
// trusted: its size and time are bounded, redirects are not followed, and its texts are not quoted.
package openid

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"github.com/recital-tts/recital/internal/providers/signin"
)

// Config configures a Provider.
type Config struct {
	Issuer       string // a URL; http only on loopback
	ClientID     string
	ClientSecret string
	Watch        func(http.RoundTripper) http.RoundTripper // wraps the transport, to measure it; may be nil
}

// Provider implements signin.Provider. It reads its issuer's endpoints when they are first needed.
type Provider struct {
	config Config
	client *http.Client
	flight singleflight.Group
	found  atomic.Pointer[discovery]
}

// discovery is the metadata of an issuer.
type discovery struct {
	provider *oidc.Provider
	verifier *oidc.IDTokenVerifier
	style    oauth2.AuthStyle
	names    bool      // answers include the issuer (RFC 9207)
	until    time.Time // expiry
}

const (
	// rediscovery is the time for which the endpoints of an issuer are cached.
	rediscovery = time.Hour
	// requestTimeout bounds each request to a provider.
	requestTimeout = 5 * time.Second
	maxReply       = 1 << 20 // bytes
)

// New returns a Provider. The caller must close it.
func New(config Config) (*Provider, error) {
	if config.ClientID == "" || config.ClientSecret == "" {
		return nil, errors.New("an identity provider needs a client id and a secret")
	}
	u, err := url.Parse(config.Issuer)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || !secure(u) {
		return nil, errors.New("an issuer must be a URL without a query: https://HOST/PATH, or http:// on loopback")
	}
	client := newClient()
	if config.Watch != nil {
		client.Transport = config.Watch(client.Transport)
	}
	return &Provider{config: config, client: client}, nil
}

// secure reports whether requests to a URL are protected in transit.
func secure(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && signin.IsLoopback(u.Host)
}

// Issuer implements signin.Provider.
func (p *Provider) Issuer() string { return p.config.Issuer }

// Close closes idle connections.
func (p *Provider) Close() error {
	p.client.CloseIdleConnections()
	return nil
}

// Address implements signin.Provider.
func (p *Provider) Address(ctx context.Context, c signin.Challenge) (string, error) {
	d, err := p.discover(ctx)
	if err != nil {
		return "", err
	}
	return p.oauth(d, c.Callback).AuthCodeURL(c.State, oidc.Nonce(c.Nonce), oauth2.S256ChallengeOption(c.Verifier)), nil
}

// CheckIssuer implements signin.Provider.
func (p *Provider) CheckIssuer(ctx context.Context, issuer string) error {
	d, err := p.discover(ctx)
	switch {
	case err != nil:
		return err
	case issuer == "" && d.names:
		return signin.Fail(signin.InvalidAnswer, "the answer does not name its issuer, which the provider has announced")
	case issuer != "" && issuer != p.config.Issuer:
		return signin.Fail(signin.InvalidAnswer, "another issuer has answered")
	}
	return nil
}

// Redeem implements signin.Provider.
func (p *Provider) Redeem(ctx context.Context, code string, c signin.Challenge) (signin.Person, error) {
	d, err := p.discover(ctx)
	if err != nil {
		return signin.Person{}, err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	tokens, err := p.oauth(d, c.Callback).Exchange(ctx, code, oauth2.VerifierOption(c.Verifier))
	if err != nil {
		return signin.Person{}, exchangeFailure(err)
	}
	id, err := p.verify(ctx, d, tokens, c.Nonce)
	if err != nil {
		return signin.Person{}, err
	}
	return p.person(ctx, d, id, tokens)
}

func (p *Provider) oauth(d *discovery, callback string) *oauth2.Config {
	endpoint := d.provider.Endpoint()
	endpoint.AuthStyle = d.style
	return &oauth2.Config{
		ClientID: p.config.ClientID, ClientSecret: p.config.ClientSecret, Endpoint: endpoint,
		RedirectURL: callback, Scopes: []string{oidc.ScopeOpenID, "email", "profile"},
	}
}

// exchangeFailure returns the Failure of a token request.
func exchangeFailure(err error) error {
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &refused) && refused.Response.StatusCode >= http.StatusInternalServerError:
		return signin.Fail(signin.Unavailable, fmt.Sprintf("the token endpoint has answered %d", refused.Response.StatusCode))
	case errors.As(err, &refused) && refused.ErrorCode == "invalid_client":
		return signin.Fail(signin.ServerError, "the provider does not accept the client id and the secret")
	case errors.As(err, &refused):
		return signin.Fail(signin.InvalidAnswer,
			fmt.Sprintf("the token endpoint has refused the code with %d", refused.Response.StatusCode))
	case isNetwork(err):
		return signin.Fail(signin.Unavailable, "the token endpoint does not answer")
	}
	return signin.Fail(signin.ServerError, "the token endpoint's answer cannot be read")
}

func isNetwork(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(net.Error))
}

// verify returns the ID token, after verifying that the provider issued it for this client and this sign-in. go-oidc
// leaves nonce, authorized party and access token to its caller.
func (p *Provider) verify(
	ctx context.Context, d *discovery, tokens *oauth2.Token, nonce string,
) (*oidc.IDToken, error) {
	raw, ok := tokens.Extra("id_token").(string)
	if !ok {
		return nil, signin.Fail(signin.InvalidAnswer, "there is no ID token")
	}
	id, err := d.verifier.Verify(ctx, raw)
	if err != nil {
		return nil, signin.Fail(signin.InvalidAnswer, "the ID token is not valid")
	}
	var claims struct {
		AuthorizedParty string `json:"azp"`
	}
	if err := id.Claims(&claims); err != nil {
		return nil, signin.Fail(signin.InvalidAnswer, "the ID token cannot be read")
	}
	switch {
	case subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(nonce)) != 1:
		return nil, signin.Fail(signin.InvalidAnswer, "the ID token has another nonce")
	case claims.AuthorizedParty != p.config.ClientID && (claims.AuthorizedParty != "" || len(id.Audience) > 1):
		return nil, signin.Fail(signin.InvalidAnswer, "the ID token is for another party")
	case id.AccessTokenHash != "" && id.VerifyAccessToken(tokens.AccessToken) != nil:
		return nil, signin.Fail(signin.InvalidAnswer, "the ID token is for another access token")
	case !validSubject(id.Subject):
		return nil, signin.Fail(signin.InvalidAnswer, "the ID token has no valid subject")
	}
	return id, nil
}
