package devidp

import (
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

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
		!g.answers(r.PostFormValue("code_verifier")):
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

// idToken says who signs in, and no more: the user info has the profile.
func (s *Server) idToken(g grant) (string, error) {
	now := time.Now()
	claims := reply{
		"iss": s.Issuer(g.name), "aud": ClientID, "azp": ClientID, "sub": g.person.subject(), "nonce": g.nonce,
		"iat": now.Unix(), "exp": now.Add(tokenLifetime).Unix(),
	}
	signer := s.signer
	switch g.fault {
	case wrongNonce:
		claims["nonce"] = draw()
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
		claims["sub"] = draw()
	}
	send(w, http.StatusOK, claims)
}

func send(w http.ResponseWriter, status int, body reply) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // an error means that the client has gone
}
