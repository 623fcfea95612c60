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

// Sessions looks up the sessions of browsers.
type Sessions interface {
	// Session returns the session of a cookie, and records its use. Errors are the same as for Authenticator.APIKey.
	Session(ctx context.Context, cookie string, use SessionUse) (Session, error)
}

// SessionUse describes the use of a session.
type SessionUse struct {
	OnlyReads bool // the request reads views, and does not append
	KeepsOld  bool // no reply can carry a new cookie
}

// Session is a valid session.
type Session struct {
	Principal Principal
	Renewed   string // the cookie that replaces the request's; usually ""
	Expires   time.Time
	CrossSite bool // its page is on another site than the service
}

// SetSessionCookie signs the browser in: the reply sets the cookie of a session with an expiry. crossSite means that
// the page is on another site than the service. The cookie is Lax, because a browser that returns from the identity
// provider must send it. For pages of another site, browsers accept and send only cookies with SameSite=None and
// Secure.
func (c *Call) SetSessionCookie(value string, expires time.Time, crossSite bool) {
	site := fasthttp.CookieSameSiteLaxMode
	if crossSite {
		site = fasthttp.CookieSameSiteNoneMode // which makes it Secure
	}
	c.setCookie(sessionCookie, value, expires, !c.plainCookies, site)
}

// ClearSessionCookie signs the browser out: the reply removes its cookie.
func (c *Call) ClearSessionCookie() { c.SetSessionCookie("", fasthttp.CookieExpireDelete, c.elsewhere) }

// setCookie sets a cookie that no script can read.
func (c *Call) setCookie(name, value string, expires time.Time, secure bool, site fasthttp.CookieSameSite) {
	cookie := fasthttp.AcquireCookie()
	defer fasthttp.ReleaseCookie(cookie)
	cookie.SetKey(name)
	cookie.SetValue(value)
	cookie.SetPath("/")
	cookie.SetHTTPOnly(true)
	cookie.SetSecure(secure)
	cookie.SetSameSite(site)
	cookie.SetExpire(expires)
	c.http.Response.Header.SetCookie(cookie)
	c.SetHeader("Cache-Control", "no-store")
}

// SessionShown returns the id of the session in the request's cookie, or "". The session may have ended, and the caller
// may be authenticated by a key.
func (c *Call) SessionShown() string {
	id, _, _ := strings.Cut(c.SessionCookie(), ".")
	return id
}

// SessionCookie returns the cookie of the request's session, or "".
func (c *Call) SessionCookie() string {
	value, err := c.cookieOf(sessionCookie)
	if err != nil {
		return ""
	}
	return value
}

// cookieOf returns a cookie, or "". Two different values are refused, as for keys.
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

// authenticateSession sets the Principal of a call from the cookie of a session, and reports whether there is one.
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
		return false, nil // browsers also send the cookie of an ended session
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

// OperatorSessions looks up the browser sessions of operators and auditors.
type OperatorSessions interface {
	// Find returns the valid session of a cookie, or false.
	Find(cookie string, now time.Time) (operators.Session, bool)
}

var errNotOperatorsPage = domain.Refuse(domain.Denied,
	"The session of an operator permits this to the operators' page only: the header Sec-Fetch-Site must be same-origin")

// findOperator returns the token of a call's session.
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
// public address, which is same-site, cannot read either.
func fromOperatorsPage(call *Call, e *endpoint) bool {
	site := call.Header("Sec-Fetch-Site")
	if e.ChangesState || e.Act != nil {
		return site == "same-origin"
	}
	return site == "same-origin" || site == "none" || site == ""
}

// SetOperatorCookie sets the cookie of an operator's session with an expiry. It is Secure if the page was loaded over
// TLS, according to Origin.
func (c *Call) SetOperatorCookie(value string, expires time.Time) {
	secure := strings.HasPrefix(c.Header("Origin"), "https://")
	c.setCookie(OperatorCookie, value, expires, secure, fasthttp.CookieSameSiteStrictMode)
}

// ClearOperatorCookie removes the cookie of an operator's session.
func (c *Call) ClearOperatorCookie() { c.SetOperatorCookie("", fasthttp.CookieExpireDelete) }
