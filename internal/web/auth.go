package web

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"slices"
	"strings"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/operators"
)

// authenticate sets the Principal or the Role of a call. It runs before the body is looked at: a stranger learns nothing about inputs.
func (s *Server) authenticate(call *Call, e *endpoint) error {
	if len(e.Roles) > 0 {
		return s.authenticateToken(call, e)
	}
	if e.Access == AccessPublic {
		return nil
	}
	key := call.Header(headerAPIKey)
	if key == "" {
		if e.Access == AccessOptional {
			return nil
		}
		return domain.Refuse(domain.Unauthenticated, "An API key is needed, in the header x-api-key")
	}
	principal, err := s.lookUpKey(call, key)
	if err != nil {
		return err
	}
	call.Principal = principal
	return nil
}

// lookUpKey returns the owner of a key.
func (s *Server) lookUpKey(ctx context.Context, key string) (Principal, error) {
	principal, err := s.cfg.Authenticator.APIKey(ctx, key)
	if domain.CodeOf(err) == domain.Unauthenticated {
		return Principal{}, domain.Refuse(domain.Unauthenticated, "Invalid API key")
	}
	if err != nil {
		return Principal{}, fmt.Errorf("authenticating: %w", err)
	}
	return principal, nil
}

// authenticateToken compares hashes, so that it takes the same time however much of a token is right.
func (s *Server) authenticateToken(call *Call, e *endpoint) error {
	scheme, token, _ := strings.Cut(call.Header("authorization"), " ")
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
		return domain.Refuse(domain.Unauthenticated, "A valid token is needed, as authorization: Bearer <token>")
	case !slices.Contains(e.Roles, found.Role):
		return domain.Refuse(domain.Denied, "The token's role does not permit this")
	}
	call.Role, call.Operator = found.Role, found.Name
	return nil
}
