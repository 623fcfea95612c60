package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/access/operators"
	"github.com/recital-tts/recital/internal/http/web/bind"
	"github.com/recital-tts/recital/internal/http/web/quota"
)

// authenticate sets the Principal or the Role of a call. It runs before the body is examined, so that unknown callers
// see no errors about inputs.
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
	key, err := call.apiKey(e)
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

// authenticateLoopback sets the role of a caller on this machine, who needs no token. The name is in capitals, unlike
// any token's.
func (s *Server) authenticateLoopback(call *Call, e *endpoint) (err error) {
	call.Role, call.Operator = operators.Operator, "LOCAL"
	call.Reason, err = call.reasonOf(e)
	return err
}

// authenticateBrowser authenticates a call without an API key by its cookie. After a wrong key the cookie is not tried,
// because the meaning of a request must not depend on which of two callers is known.
func (s *Server) authenticateBrowser(call *Call, e *endpoint) error {
	shown, err := s.authenticateSession(call, e)
	switch {
	case shown || err != nil:
		return err
	case e.Access == AccessOptional:
		return nil
	case e.OpenAI:
		return domain.Refuse(domain.Unauthenticated, "An API key is needed, as authorization: Bearer <key>")
	case e.KeyOnly || s.cfg.Sessions == nil:
		return domain.Refuse(domain.Unauthenticated, "An API key is needed, in the header x-api-key")
	}
	return domain.Refuse(domain.Unauthenticated,
		"An API key is needed, in the header x-api-key, or a session, in the cookie "+sessionCookie)
}

// single returns a header that identifies the caller or its page. Two different values are refused, because readers of
// the first and of the last would see different callers.
func (c *Call) single(name string) (string, error) {
	lines := c.http.Request.Header.PeekAll(name)
	for _, line := range lines {
		if !bytes.Equal(line, lines[0]) {
			return "", &Error{
				Status: http.StatusBadRequest, Message: "The header " + name + " was sent twice, with different values",
			}
		}
	}
	return c.Header(name), nil
}

// authenticatorOf returns the Authenticator for the keys of a route's callers. A route that only reads views does not
// append.
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

// authenticateToken sets the role of a call with a token or, without one, with an operator's session.
func (s *Server) authenticateToken(call *Call, e *endpoint) error {
	found, err := s.findRole(call, e)
	if err != nil {
		return err
	}
	if !slices.Contains(e.Roles, found.Role) {
		return domain.Refuse(domain.Denied, "The token's role does not permit this")
	}
	call.Role, call.Operator = found.Role, found.Name
	call.Reason, err = call.reasonOf(e)
	return err
}

func (s *Server) findRole(call *Call, e *endpoint) (operators.Token, error) {
	header, err := call.single("authorization")
	if err != nil {
		return operators.Token{}, err
	}
	if header == "" && s.cfg.OperatorSessions != nil {
		cookie, err := call.cookieOf(OperatorCookie)
		switch {
		case err != nil:
			return operators.Token{}, err
		case cookie != "":
			return s.findOperator(call, e, cookie)
		}
	}
	return s.findToken(call, header)
}

// findToken compares hashes, so that its time does not depend on how much of a token is right.
func (s *Server) findToken(call *Call, header string) (found operators.Token, err error) {
	scheme, token, _ := strings.Cut(header, " ")
	token = strings.TrimSpace(token)
	hash := sha256.Sum256([]byte(token))
	for _, known := range s.cfg.Tokens {
		if subtle.ConstantTimeCompare(known.Hash[:], hash[:]) == 1 {
			found = known
		}
	}
	if token == "" || found.Role == "" || !strings.EqualFold(scheme, "bearer") {
		call.SetHeader("WWW-Authenticate", "Bearer")
		return operators.Token{}, s.refuseToken(call, token)
	}
	return found, nil
}

func (s *Server) refuseToken(call *Call, shown string) error {
	const message = "A valid token is needed, as authorization: Bearer <token>"
	if shown == "" {
		return domain.Refuse(domain.Unauthenticated, message)
	}
	return s.wrong(call, message)
}

// headerReason is the header with an operator's reason for an act.
const headerReason = "x-recital-reason"

// maxReasonLength bounds a reason, and the recorded subject of an act, in characters.
const maxReasonLength = 500

// Act describes a change or copy by an operator or auditor. It is recorded before the handler is called.
type Act struct {
	Kind string // such as projections-rebuild
	// Own means that the events of the handler's command identify the actor, so the act needs no event of its own.
	Own bool
	// Reasoned requires a reason.
	Reasoned bool
	// Anyway permits the act even if the log accepts no events: copies, which are needed to rescue a full disk.
	Anyway bool
	// Within is the time in which repetitions by one caller count as the same act. 0 records each.
	Within time.Duration
}

// RecordAct records that the caller is about to act on a subject, which contains no personal data. An error refuses the
// act.
type RecordAct func(call *Call, act Act, subject string) error

// Acts declares the act of operators and auditors on a route.
func Acts(act Act) Option { return func(r *Route) { r.Act = &act } }

// Subject is implemented by inputs that name the subject of an act.
type Subject interface{ Subject() string }

// recordAct records the act of a route, once its inputs are valid.
func (s *Server) recordAct(call *Call, e *endpoint, in any) error {
	if e.Act == nil || e.Act.Own {
		return nil
	}
	subject := ""
	if named, ok := in.(Subject); ok {
		subject = named.Subject()
	}
	return s.cfg.Record(call, *e.Act, shortened(subject))
}

// reasonOf returns the operator's reason. It stays in the log, so it must not contain an e-mail address.
func (c *Call) reasonOf(e *endpoint) (string, error) {
	reason := strings.TrimSpace(c.Header(headerReason))
	refuse := func(message string) (string, error) {
		return "", Invalid(bind.WrongHeader(headerReason, message))
	}
	switch {
	case reason == "" && e.Act != nil && e.Act.Reasoned:
		return refuse("this needs a reason, which is recorded (recitalctl: --reason TEXT)")
	case !utf8.ValidString(reason) || strings.ContainsFunc(reason, unicode.IsControl):
		return refuse("a reason is one line of UTF-8")
	case utf8.RuneCountInString(reason) > maxReasonLength:
		return refuse("a reason has at most 500 characters")
	case strings.Contains(reason, "@"):
		return refuse("a reason stays in the log for good, so it must not hold an e-mail address")
	}
	return reason, nil
}

func shortened(subject string) string {
	if characters := []rune(subject); len(characters) > maxReasonLength {
		return string(characters[:maxReasonLength-1]) + "…"
	}
	return subject
}

// Rates limits the rate of requests that may append to the log.
type Rates interface {
	// Account counts a request of an account, and reports whether its rate permits it.
	Account(id, plan string) bool
	// FreeChange counts a change that costs an account nothing, and reports whether its budget permits it.
	FreeChange(id, plan string) bool
	// Address counts a request of an address, and reports whether its rate permits it.
	Address(netip.Addr) bool
	// Failure counts a wrong credential from an address, and reports whether its rate permits it.
	Failure(netip.Addr) bool
}

// ratePause is the time until a client over its rate may retry: all rates are at least one per second. freeChangePause
// is the time in which a free account's budget of changes grows by one.
const (
	ratePause       = time.Second
	freeChangePause = 10 * time.Second
)

// limitRate counts a request of a known caller that may append. Its events stay for ever, even if the client
// disconnects immediately. A client that has already disconnected does not append.
func (s *Server) limitRate(v *visit) error {
	if !v.Route.Appends {
		return nil
	}
	conn := connOf(v.http)
	conn.CheckGone()
	if v.life.Err() != nil {
		return context.Cause(v.life)
	}
	if s.cfg.Rates == nil {
		return nil
	}
	if !s.cfg.Rates.Address(quota.Client(v.Client)) {
		return TooManyRequests("Too many requests from this address", ratePause)
	}
	if v.Principal.Account != "" && !s.cfg.Rates.Account(v.Principal.Account, v.Principal.Plan) {
		return TooManyRequests("Too many requests of this account", ratePause)
	}
	if v.Route.FreeChange && !s.cfg.Rates.FreeChange(v.Principal.Account, v.Principal.Plan) {
		return TooManyRequests("Too many changes of this account", freeChangePause)
	}
	return nil
}

// wrong refuses a wrong credential. An address that sends many is asked to wait, and has to reconnect for each one.
// Correct credentials from the same address are still admitted, because clients may share an address.
func (s *Server) wrong(call *Call, message string) error {
	if s.cfg.Rates == nil || s.cfg.Rates.Failure(quota.Client(call.Client)) {
		return domain.Refuse(domain.Unauthenticated, message)
	}
	call.http.SetConnectionClose()
	return TooManyRequests("Too many wrong credentials from this address", ratePause)
}
