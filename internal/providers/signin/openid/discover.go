package openid

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/recital-tts/recital/internal/providers/signin"
)

// discover returns the issuer's metadata. Concurrent callers share one request. While the issuer does not respond, its
// last metadata is used.
func (p *Provider) discover(ctx context.Context) (*discovery, error) {
	known := p.found.Load()
	if known != nil && time.Now().Before(known.until) {
		return known, nil
	}
	asked := p.flight.DoChan("", func() (any, error) {
		if p.found.Load() != known { // another call has meanwhile read it
			return nil, nil
		}
		found, err := p.ask(context.WithoutCancel(ctx))
		if err == nil {
			p.found.Store(found)
		}
		return nil, err
	})
	select {
	case answer := <-asked:
		if answer.Err != nil && known == nil {
			return nil, answer.Err
		}
		return p.found.Load(), nil
	case <-ctx.Done():
		return nil, signin.Fail(signin.Unavailable, "the issuer does not answer")
	}
}

func (p *Provider) ask(ctx context.Context) (*discovery, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.client), requestTimeout)
	defer cancel()
	provider, err := oidc.NewProvider(ctx, p.config.Issuer)
	if err != nil {
		return nil, signin.Fail(signin.Unavailable, "the issuer's discovery document cannot be read")
	}
	var document struct {
		Auth     string   `json:"authorization_endpoint"`
		Token    string   `json:"token_endpoint"`
		UserInfo string   `json:"userinfo_endpoint"`
		Keys     string   `json:"jwks_uri"`
		Methods  []string `json:"token_endpoint_auth_methods_supported"`
		Names    bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := provider.Claims(&document); err != nil {
		return nil, signin.Fail(signin.Unavailable, "the issuer's discovery document cannot be read")
	}
	for _, endpoint := range []string{document.Auth, document.Token, document.Keys} {
		if !p.mayAsk(endpoint) {
			return nil, signin.Fail(signin.ServerError, "the issuer names an endpoint that is missing or not secure")
		}
	}
	if document.UserInfo != "" && !p.mayAsk(document.UserInfo) {
		return nil, signin.Fail(signin.ServerError, "the issuer names an endpoint that is not secure")
	}
	return &discovery{
		provider: provider,
		verifier: provider.Verifier(&oidc.Config{ClientID: p.config.ClientID}),
		style:    styleOf(document.Methods),
		names:    document.Names,
		until:    time.Now().Add(rediscovery),
	}, nil
}

// mayAsk reports whether an issuer's endpoint may be used. An issuer on the Internet must not name an endpoint on this
// machine.
func (p *Provider) mayAsk(endpoint string) bool {
	issuer, err := url.Parse(p.config.Issuer)
	if err != nil {
		return false
	}
	u, err := url.Parse(endpoint)
	return err == nil && u.Host != "" && u.User == nil && secure(u) && (u.Scheme == "https" || issuer.Scheme == "http")
}

// styleOf returns the client's authentication method at the token endpoint. The default is client_secret_basic (OpenID
// Connect Discovery 1.0, 3). Trying both would use up the code.
func styleOf(methods []string) oauth2.AuthStyle {
	if slices.Contains(methods, "client_secret_post") && !slices.Contains(methods, "client_secret_basic") {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader
}

// newClient returns a client with limits on the size and time of replies, which does not follow redirects.
func newClient() *http.Client {
	return &http.Client{
		Transport: bounded{&http.Transport{
			Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
			MaxResponseHeaderBytes: 64 << 10, MaxConnsPerHost: 64, IdleConnTimeout: time.Minute,
		}},
		Timeout:       requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// bounded is a transport that limits replies to maxReply bytes.
type bounded struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.Transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	response.Body = http.MaxBytesReader(nil, response.Body, maxReply)
	return response, nil
}
