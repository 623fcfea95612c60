package web

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/access/operators"
)

// authenticate sets the Principal or the Role of a call. It runs before the body is looked at: a stranger learns nothing about inputs.
func (s *Server) authenticate(v *visit) error {
	call, e := v.Call, v.endpoint
	if _, err := call.single("origin"); err != nil {
		return err
	}
	if e.Loopback && call.Header("Authorization") == "" && call.Loopback() && !call.fromPage() {
		return s.authenticateLoopback(call, e)
	}
	if len(e.Roles) > 0 {
		return s.authenticateToken(call, e)
	}
	if e.Access == AccessPublic {
		return nil
	}
	key, err := call.single(headerAPIKey)
	if err != nil {
		return err
	}
	if key == "" {
		return s.authenticateBrowser(call, e)
	}
	principal, err := s.lookUpKey(call, s.authenticatorOf(e), key)
	if err != nil {
		return err
	}
	call.Principal = principal
	return nil
}

// authenticateLoopback names a caller of this machine, who needs no token. No token has a name in capitals.
func (s *Server) authenticateLoopback(call *Call, e *endpoint) (err error) {
	call.Role, call.Operator = operators.Operator, "LOCAL"
	call.Reason, err = call.reasonOf(e)
	return err
}

// authenticateBrowser looks at the cookie of a call without an API key. A wrong key is never followed by a look at it: what
// a request means must not depend on which of two callers is known.
func (s *Server) authenticateBrowser(call *Call, e *endpoint) error {
	shown, err := s.authenticateSession(call, e)
	switch {
	case shown || err != nil:
		return err
	case e.Access == AccessOptional:
		return nil
	case e.KeyOnly || s.cfg.Sessions == nil:
		return domain.Refuse(domain.Unauthenticated, "An API key is needed, in the header x-api-key")
	}
	return domain.Refuse(domain.Unauthenticated, "An API key is needed, in the header x-api-key, or a session, in the cookie "+sessionCookie)
}

// single returns a header that says who calls, or from which page. Two that differ are refused: who reads the first and who
// reads the last would not mean the same caller.
func (c *Call) single(name string) (string, error) {
	lines := c.http.Request.Header.PeekAll(name)
	for _, line := range lines {
		if !bytes.Equal(line, lines[0]) {
			return "", &Error{Status: http.StatusBadRequest, Message: "The header " + name + " was sent twice, with different values"}
		}
	}
	return c.Header(name), nil
}

// authenticatorOf returns who looks up the keys of a route's callers. A route that only reads views appends nothing.
func (s *Server) authenticatorOf(e *endpoint) Authenticator {
	if s.cfg.Readers != nil && e.onlyReads() {
		return s.cfg.Readers
	}
	return s.cfg.Authenticator
}

// lookUpKey returns the owner of a key.
func (s *Server) lookUpKey(call *Call, by Authenticator, key string) (Principal, error) {
	principal, err := by.APIKey(call, key)
	if domain.CodeOf(err) == domain.Unauthenticated {
		return Principal{}, s.wrong(call, "Invalid API key")
	}
	if err != nil {
		return Principal{}, fmt.Errorf("authenticating: %w", err)
	}
	return principal, nil
}

// authenticateToken compares hashes, so that it takes the same time however much of a token is right.
func (s *Server) authenticateToken(call *Call, e *endpoint) error {
	header, err := call.single("authorization")
	if err != nil {
		return err
	}
	scheme, token, _ := strings.Cut(header, " ")
	token = strings.TrimSpace(token)
	hash := sha256.Sum256([]byte(token))
	var found operators.Token
	for _, known := range s.cfg.Tokens {
		if subtle.ConstantTimeCompare(known.Hash[:], hash[:]) == 1 {
			found = known
		}
	}
	switch {
	case token == "" || found.Role == "" || !strings.EqualFold(scheme, "bearer"):
		call.SetHeader("WWW-Authenticate", "Bearer")
		return s.refuseToken(call, token)
	case !slices.Contains(e.Roles, found.Role):
		return domain.Refuse(domain.Denied, "The token's role does not permit this")
	}
	call.Role, call.Operator = found.Role, found.Name
	call.Reason, err = call.reasonOf(e)
	return err
}

func (s *Server) refuseToken(call *Call, shown string) error {
	const message = "A valid token is needed, as authorization: Bearer <token>"
	if shown == "" {
		return domain.Refuse(domain.Unauthenticated, message)
	}
	return s.wrong(call, message)
}
