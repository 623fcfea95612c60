package web

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"slices"
	"strings"

	"github.com/recital-tts/recital/domain"
)

// authenticate finds out who calls. It runs before the body is looked at: a stranger learns nothing about inputs.
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

// lookUpKey asks who owns a key.
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

// roleToken is an admin token, hashed so that comparing takes the same time whatever its length.
type roleToken struct {
	role string
	hash [sha256.Size]byte
}

func hashTokens(tokens map[string]string) []roleToken {
	var hashed []roleToken
	for role, token := range tokens {
		if token != "" {
			hashed = append(hashed, roleToken{role: role, hash: sha256.Sum256([]byte(token))})
		}
	}
	return hashed
}

func (s *Server) authenticateToken(call *Call, e *endpoint) error {
	scheme, token, _ := strings.Cut(call.Header("authorization"), " ")
	hash := sha256.Sum256([]byte(strings.TrimSpace(token)))
	role := ""
	for _, known := range s.roles {
		if subtle.ConstantTimeCompare(known.hash[:], hash[:]) == 1 {
			role = known.role
		}
	}
	switch {
	case role == "" || !strings.EqualFold(scheme, "bearer"):
		call.SetHeader("WWW-Authenticate", "Bearer")
		return domain.Refuse(domain.Unauthenticated, "A valid token is needed, as authorization: Bearer <token>")
	case !slices.Contains(e.Roles, role):
		return domain.Refuse(domain.Denied, "The token's role does not permit this")
	}
	call.Role = role
	return nil
}
