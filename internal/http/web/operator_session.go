package web

import (
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/access/operators"
)

// OperatorCookie is the name of the cookie of an operator's or auditor's session. Browsers send cookies to every port
// of a host, so the name is not that of the public address, which does not look at it.
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

// fromOperatorsPage reports whether the cookie of an operator admits a request: for what changes or records something,
// the browser has to say that a page of the admin address makes it. Pages of other origins, such as those of the public
// address, which are of the same site, read nothing either.
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
