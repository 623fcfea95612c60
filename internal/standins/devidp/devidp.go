// Package devidp is an identity provider for development. It accepts any login, so it serves loopback only. The login
// page has a switch for each way in which a sign-in can fail.
package devidp

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/recital-tts/recital/internal/providers/signin"
	"github.com/recital-tts/recital/internal/standins"
)

// ClientID is the only client of all issuers.
const ClientID = standins.ClientID

// Server serves one or more issuers on one address, each under its name.
type Server struct {
	base   string // its URL
	names  map[string]bool
	home   string // host of a client that is not on loopback, or ""
	secret string
	signer jose.Signer
	forger jose.Signer // has another key with the same id
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
		base: "http://" + ln.Addr().String(), names: map[string]bool{}, home: home, secret: cmp.Or(secret, rand.Text()),
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

// newSigner returns a signer with a new key. All keys have the same id, but only one is published.
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

// fault is a way in which a sign-in fails, "" for none.
type fault string

// The faults, which login.html explains.
const (
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

// person is who signs in.
type person struct{ Name, Email, Picture string }

// subject is the same for the same e-mail address.
func (p person) subject() string {
	sum := sha256.Sum256([]byte(strings.ToLower(p.Email)))
	return hex.EncodeToString(sum[:8])
}

// grant is the permission of a person for the client. Its token is first a code, then an access token.
type grant struct {
	name      string // of the issuer
	person    person
	fault     fault
	redirect  string
	nonce     string
	challenge string // PKCE, S256
	expiresAt time.Time
}

// accepts reports whether a PKCE verifier matches the grant.
func (g grant) accepts(verifier string) bool {
	sum := sha256.Sum256([]byte(verifier))
	return subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(g.challenge)) == 1
}

// maxGrants bounds the memory for clients that request in a loop.
const maxGrants = 10_000

// keep returns a new token of a grant.
func (s *Server) keep(g grant, lifetime time.Duration) string {
	token, now := rand.Text(), time.Now()
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

// take returns the grant of a token, which is valid only once.
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

const tokenLifetime = 5 * time.Minute

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{name}/.well-known/openid-configuration", s.discovery)
	mux.HandleFunc("GET /{name}/keys", s.publishKeys)
	mux.HandleFunc("GET /{name}/authorize", s.showPage)
	mux.HandleFunc("POST /{name}/authorize", s.answerPage)
	mux.HandleFunc("POST /{name}/token", s.token)
	mux.HandleFunc("GET /{name}/userinfo", s.userInfo)
	return mux
}

// reply is a body in JSON: a closed set of the documents below.
type reply map[string]any

func (s *Server) discovery(w http.ResponseWriter, r *http.Request) {
	if !s.names[r.PathValue("name")] {
		http.NotFound(w, r)
		return
	}
	issuer := s.Issuer(r.PathValue("name"))
	send(w, http.StatusOK, reply{
		"issuer": issuer, "authorization_endpoint": issuer + "/authorize", "token_endpoint": issuer + "/token",
		"userinfo_endpoint": issuer + "/userinfo", "jwks_uri": issuer + "/keys",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported":          []string{string(jose.ES256)},
		"code_challenge_methods_supported":               []string{"S256"},
		"token_endpoint_auth_methods_supported":          []string{"client_secret_basic"},
		"authorization_response_iss_parameter_supported": true,
	})
}

func (s *Server) publishKeys(w http.ResponseWriter, _ *http.Request) {
	send(w, http.StatusOK, reply{"keys": s.keys.Keys})
}

// token exchanges a code, once.
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	client, secret, _ := r.BasicAuth()
	if client != ClientID || subtle.ConstantTimeCompare([]byte(secret), []byte(s.secret)) != 1 {
		send(w, http.StatusUnauthorized, reply{"error": "invalid_client"})
		return
	}
	g, ok := s.take(r.PostFormValue("code"), r.PathValue("name"))
	switch {
	case !ok || g.fault == usedCode || r.PostFormValue("redirect_uri") != g.redirect ||
		!g.accepts(r.PostFormValue("code_verifier")):
		send(w, http.StatusBadRequest, reply{"error": "invalid_grant"})
		return
	case g.fault == tokenError:
		send(w, http.StatusInternalServerError, reply{"error": "server_error"})
		return
	}
	token, err := s.idToken(g)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	send(w, http.StatusOK, reply{
		"access_token": s.keep(g, tokenLifetime), "token_type": "Bearer", "expires_in": int(tokenLifetime.Seconds()),
		"id_token": token,
	})
}

// idToken returns an ID token without a profile, which is in the user info.
func (s *Server) idToken(g grant) (string, error) {
	now := time.Now()
	claims := reply{
		"iss": s.Issuer(g.name), "aud": ClientID, "azp": ClientID, "sub": g.person.subject(), "nonce": g.nonce,
		"iat": now.Unix(), "exp": now.Add(tokenLifetime).Unix(),
	}
	signer := s.signer
	switch g.fault {
	case wrongNonce:
		claims["nonce"] = rand.Text()
	case wrongIssuer:
		claims["iss"] = s.base + "/other"
	case wrongAudience:
		claims["aud"] = "another"
	case wrongParty:
		claims["aud"], claims["azp"] = []string{ClientID, "another"}, "another"
	case expired:
		claims["exp"] = now.Add(-time.Minute).Unix()
	case badSignature:
		signer = s.forger
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", fmt.Errorf("encoding an ID token: %w", err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", fmt.Errorf("signing an ID token: %w", err)
	}
	return signed.CompactSerialize()
}

func (s *Server) userInfo(w http.ResponseWriter, r *http.Request) {
	g, ok := s.find(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), r.PathValue("name"))
	if !ok {
		w.Header().Set("WWW-Authenticate", "Bearer")
		send(w, http.StatusUnauthorized, reply{"error": "invalid_token"})
		return
	}
	claims := reply{
		"sub": g.person.subject(), "name": g.person.Name, "email": g.person.Email,
		"email_verified": g.fault != emailUnverified,
	}
	if g.person.Picture != "" {
		claims["picture"] = g.person.Picture
	}
	switch g.fault {
	case noName:
		delete(claims, "name")
	case noEmail:
		delete(claims, "email")
	case otherUserInfo:
		claims["sub"] = rand.Text()
	}
	send(w, http.StatusOK, claims)
}

func send(w http.ResponseWriter, status int, body reply) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // an error means that the client has gone
}

//go:embed login.html
var loginPage string

var page = template.Must(template.New("login").Parse(loginPage))

const codeLifetime = time.Minute

// request is a request of the authorization endpoint, as a client has made it.
type request struct {
	name     string // of the issuer
	redirect *url.URL
	query    url.Values
}

// readRequest reads a request, or returns the reason why it is not answered with a redirect.
func (s *Server) readRequest(r *http.Request) (request, string) {
	query := r.URL.Query()
	in := request{name: r.PathValue("name"), query: query}
	redirect, err := url.Parse(query.Get("redirect_uri"))
	switch {
	case !s.names[in.name]:
		return in, "There is no such issuer"
	case query.Get("client_id") != ClientID:
		return in, "There is no such client"
	case err != nil || !s.isCallback(redirect, in.name):
		return in, "The redirect_uri is not the client's"
	case query.Get("response_type") != "code" || query.Get("code_challenge_method") != "S256" ||
		query.Get("code_challenge") == "":
		return in, "Only the authorization code flow with PKCE (S256) is served"
	}
	in.redirect = redirect
	return in, ""
}

// isCallback reports whether a URL can be the client's: on loopback, or at its public host.
func (s *Server) isCallback(u *url.URL, name string) bool {
	here := u.Scheme == "http" && signin.IsLoopback(u.Host) || s.home != "" && u.Host == s.home
	return here && u.Path == "/auth/oauth/"+name
}

func (s *Server) showPage(w http.ResponseWriter, r *http.Request) {
	in, wrong := s.readRequest(r)
	if wrong != "" {
		http.Error(w, wrong, http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	_ = page.Execute(w, map[string]string{"Name": in.name}) // an error means that the browser has gone
}

// answerPage sends the browser back to the client.
func (s *Server) answerPage(w http.ResponseWriter, r *http.Request) {
	in, wrong := s.readRequest(r)
	if wrong != "" {
		http.Error(w, wrong, http.StatusBadRequest)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "The form cannot be read", http.StatusBadRequest)
		return
	}
	back := *in.redirect
	answer := back.Query()
	for name, values := range s.answer(in, person{
		r.PostForm.Get("name"), r.PostForm.Get("email"), r.PostForm.Get("picture"),
	}, fault(lastOf(r.PostForm["fault"]))) {
		answer[name] = values
	}
	back.RawQuery = answer.Encode()
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, back.String(), http.StatusSeeOther)
}

// lastOf returns the last value: the button Cancel comes after the switch, and overrides it.
func lastOf(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// answer returns the parameters of the redirect to the client.
func (s *Server) answer(in request, who person, f fault) url.Values {
	answer := url.Values{"state": {in.query.Get("state")}, "iss": {s.Issuer(in.name)}}
	switch f {
	case accessDenied, providerError:
		answer.Set("error", string(f))
		answer.Set("error_description", "This was chosen on the login page")
		return answer
	case wrongState:
		answer.Set("state", rand.Text())
	case otherIssuer:
		answer.Set("iss", s.base+"/other")
	}
	answer.Set("code", s.keep(grant{
		name: in.name, person: who, fault: f, redirect: in.query.Get("redirect_uri"),
		nonce: in.query.Get("nonce"), challenge: in.query.Get("code_challenge"),
	}, codeLifetime))
	return answer
}
