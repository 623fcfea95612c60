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

// authenticate sets the Principal or the Role of a call. It runs before the body is examined, so that strangers see no
// errors about inputs.
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

// authenticateLoopback names a caller of this machine, who needs no token. No token has a name in capitals.
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

// single returns a header that says who calls, or from which page. Two that differ are refused: who reads the first and
// who reads the last would not mean the same caller.
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

// authenticateToken sets the role of a call with a token or, where it shows none, with the session of an operator.
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

// findToken compares hashes, so that it takes the same time however much of a token is right.
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

// headerReason is the header with which an operator gives the reason of an act.
const headerReason = "x-recital-reason"

// maxReasonLength bounds a reason, and the recorded subject of an act, in characters.
const maxReasonLength = 500

// Act describes what operators and auditors change or copy by a route: it is recorded before the handler is called.
type Act struct {
	Kind string // such as projections-rebuild
	// Own means that the events of the handler's command name who did it, so there is no other event.
	Own bool
	// Reasoned refuses callers who give no reason.
	Reasoned bool
	// Anyway means that the act is carried out although the log takes no events: copies, without which a disk that is
	// full could not be saved.
	Anyway bool
	// Within is the time in which the repetitions of one caller are the same act. 0 records each.
	Within time.Duration
}

// RecordAct records that the caller is about to act on a subject, in words without personal data. It refuses the act by
// an error.
type RecordAct func(call *Call, act Act, subject string) error

// Acts declares what operators and auditors change or copy by a route.
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

// reasonOf returns the reason that an operator gives. It stays in the log, so it holds no e-mail address.
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
	// Address counts a request of an address, and reports whether its rate permits it.
	Address(netip.Addr) bool
	// Failure counts a wrong credential from an address, and reports whether its rate permits it.
	Failure(netip.Addr) bool
}

// ratePause is when a client over its rate may ask again: all rates are at least one a second.
const ratePause = time.Second

// limitRate counts a request of a known caller that may append. Its events stay for ever, even if the client leaves
// immediately. A client that has left already does not append.
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
	return nil
}

// wrong refuses a wrong credential. An address that sends many is asked to wait, and has to reconnect for each one.
// Right ones from the same address are still admitted, because clients may share an address.
func (s *Server) wrong(call *Call, message string) error {
	if s.cfg.Rates == nil || s.cfg.Rates.Failure(quota.Client(call.Client)) {
		return domain.Refuse(domain.Unauthenticated, message)
	}
	call.http.SetConnectionClose()
	return TooManyRequests("Too many wrong credentials from this address", ratePause)
}
