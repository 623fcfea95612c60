package web

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/access/operators"
)

// sessionCookie is the name of the cookie of a session.
const sessionCookie = "svc-session"

// Sessions looks the sessions of browsers up.
type Sessions interface {
	// Session returns the session of a cookie, and notes that it is in use. Errors are those of Authenticator.APIKey.
	Session(ctx context.Context, cookie string, use SessionUse) (Session, error)
}

// SessionUse describes the use of a session.
type SessionUse struct {
	OnlyReads bool // the request reads views, and does not append
	KeepsOld  bool // there is no reply that could carry another cookie
}

// Session is a session that lives.
type Session struct {
	Principal Principal
	Renewed   string // the cookie that replaces the one of the request, "" mostly
	Expires   time.Time
	CrossSite bool // the page that it is for is on another site than the service
}

// SetSessionCookie signs the browser in: the reply carries the cookie of a session, until it expires. crossSite says
// that the page that it is for is on another site than the service.
func (c *Call) SetSessionCookie(value string, expires time.Time, crossSite bool) {
	c.setCookie(value, crossSite, func(cookie *fasthttp.Cookie) { cookie.SetExpire(expires) })
}

// ClearSessionCookie signs the browser out: the reply removes its cookie.
func (c *Call) ClearSessionCookie() {
	c.setCookie("", c.elsewhere, func(cookie *fasthttp.Cookie) { cookie.SetExpire(fasthttp.CookieExpireDelete) })
}

// setCookie sets the cookie of the session. Lax, because a browser that comes back from the identity provider must show
// it. From pages of another site browsers take and show only what is SameSite=None, and so Secure.
func (c *Call) setCookie(value string, crossSite bool, expire func(*fasthttp.Cookie)) {
	cookie := fasthttp.AcquireCookie()
	defer fasthttp.ReleaseCookie(cookie)
	cookie.SetKey(sessionCookie)
	cookie.SetValue(value)
	cookie.SetPath("/")
	cookie.SetHTTPOnly(true)
	cookie.SetSecure(!c.plainCookies)
	cookie.SetSameSite(fasthttp.CookieSameSiteLaxMode)
	if crossSite {
		cookie.SetSameSite(fasthttp.CookieSameSiteNoneMode) // which makes it Secure
	}
	expire(cookie)
	c.http.Response.Header.SetCookie(cookie)
	c.SetHeader("Cache-Control", "no-store")
}

// SessionShown returns the id of the session of the request's cookie, "" for none. The session may have ended, and the
// caller may be authenticated by a key.
func (c *Call) SessionShown() string {
	id, _, _ := strings.Cut(c.SessionCookie(), ".")
	return id
}

// SessionCookie returns the cookie of a session that came along, "" for none.
func (c *Call) SessionCookie() string {
	value, err := c.cookieOf(sessionCookie)
	if err != nil {
		return ""
	}
	return value
}

// cookieOf returns a cookie, "" where there is none. Two that differ are refused, as two keys are.
func (c *Call) cookieOf(name string) (value string, err error) {
	var first []byte
	for shown, value := range c.http.Request.Header.Cookies() {
		if string(shown) != name {
			continue
		}
		if first != nil && !bytes.Equal(first, value) {
			return "", &Error{
				Status: http.StatusBadRequest, Message: "The cookie " + name + " was sent twice, with different values",
			}
		}
		first = bytes.Clone(value)
	}
	return string(first), nil
}

var errNoProof = domain.Refuse(domain.Denied,
	"The cookie of a session permits this to pages of the service only: the header Sec-Fetch-Site or Origin must show one")

// lookUpSession returns the owner of a session.
func (s *Server) lookUpSession(call *Call, cookie string, use SessionUse) (Principal, error) {
	found, err := s.cfg.Sessions.Session(call, cookie, use)
	if domain.CodeOf(err) == domain.Unauthenticated {
		if !use.KeepsOld {
			call.ClearSessionCookie()
		}
		return Principal{}, s.wrong(call, "Invalid session")
	}
	if err != nil {
		return Principal{}, fmt.Errorf("authenticating: %w", err)
	}
	if found.Renewed != "" {
		call.SetSessionCookie(found.Renewed, found.Expires, found.CrossSite)
	}
	return found.Principal, nil
}

// authenticateSession sets the Principal of a call with the cookie of a session, and reports whether there is one.
func (s *Server) authenticateSession(call *Call, e *endpoint) (shown bool, err error) {
	if s.cfg.Sessions == nil || e.KeyOnly {
		return false, nil
	}
	cookie, err := call.cookieOf(sessionCookie)
	if cookie == "" || err != nil {
		return false, err
	}
	if e.ChangesState && !s.proves(call, e) {
		return true, errNoProof
	}
	principal, err := s.lookUpSession(call, cookie, SessionUse{OnlyReads: e.onlyReads()})
	if e.Access == AccessOptional && domain.CodeOf(err) == domain.Unauthenticated {
		return false, nil // a browser sends the cookie of an ended session, too
	}
	if err != nil {
		return true, err
	}
	call.Principal = principal
	return true, nil
}

// OperatorCookie is the name of the cookie of an operator's or auditor's session. Browsers send cookies to every port
// of a host, so the name differs from the public address's, which ignores it.
const OperatorCookie = "recital-operator"

// OperatorSessions looks up the sessions of the browsers of operators and auditors.
type OperatorSessions interface {
	// Find returns the session of a cookie, and false if there is none that lasts.
	Find(cookie string, now time.Time) (operators.Session, bool)
}

var errNotOperatorsPage = domain.Refuse(domain.Denied,
	"The session of an operator permits this to the operators' page only: the header Sec-Fetch-Site must be same-origin")

// findOperator returns the token of the session that a call shows.
func (s *Server) findOperator(call *Call, e *endpoint, cookie string) (operators.Token, error) {
	found, ok := s.cfg.OperatorSessions.Find(cookie, time.Now())
	if !ok {
		call.ClearOperatorCookie()
		call.SetHeader("WWW-Authenticate", "Bearer")
		return operators.Token{}, s.wrong(call, "The session is over, or its token was withdrawn")
	}
	if !fromOperatorsPage(call, e) {
		return operators.Token{}, errNotOperatorsPage
	}
	call.OperatorSessionEnds = found.Expires
	return found.Token, nil
}

// fromOperatorsPage reports whether the cookie of an operator admits a request. A request that changes or records
// something must come from a page of the admin address, according to the browser. Pages of other origins, including the
// public address, which is of the same site, cannot read either.
func fromOperatorsPage(call *Call, e *endpoint) bool {
	site := call.Header("Sec-Fetch-Site")
	if e.ChangesState || e.Act != nil {
		return site == "same-origin"
	}
	return site == "same-origin" || site == "none" || site == ""
}

// SetOperatorCookie has the browser keep the cookie of an operator's session until its end.
func (c *Call) SetOperatorCookie(value string, expires time.Time) {
	c.setOperatorCookie(value, func(cookie *fasthttp.Cookie) { cookie.SetExpire(expires) })
}

// ClearOperatorCookie has the browser forget the cookie of an operator's session.
func (c *Call) ClearOperatorCookie() {
	c.setOperatorCookie("", func(cookie *fasthttp.Cookie) { cookie.SetExpire(fasthttp.CookieExpireDelete) })
}

// setOperatorCookie sends the cookie over TLS alone where the page was loaded over TLS, which its browser says in
// Origin.
func (c *Call) setOperatorCookie(value string, expire func(*fasthttp.Cookie)) {
	cookie := fasthttp.AcquireCookie()
	defer fasthttp.ReleaseCookie(cookie)
	cookie.SetKey(OperatorCookie)
	cookie.SetValue(value)
	cookie.SetPath("/")
	cookie.SetHTTPOnly(true)
	cookie.SetSecure(strings.HasPrefix(c.Header("Origin"), "https://"))
	cookie.SetSameSite(fasthttp.CookieSameSiteStrictMode)
	expire(cookie)
	c.http.Response.Header.SetCookie(cookie)
	c.SetHeader("Cache-Control", "no-store")
}
