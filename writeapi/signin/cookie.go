package signin

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/providers/signin"
)

// cookies stores the sign-ins that a browser has begun, each in its own cookie, so that concurrent tabs do not
// overwrite each other's. If the service has TLS, other hosts of its domain cannot set them (RFC 6265bis, 4.1.3.2).
type cookies struct {
	prefix string // of their names
	secure bool
}

// cookiesOf returns the cookies of a service, given the URL of its callback.
func cookiesOf(callback string) cookies {
	u, err := url.Parse(callback)
	if err == nil && u.Scheme == "http" && signin.IsLoopback(u.Host) { // which cannot set secure cookies
		return cookies{prefix: "svc-oauth-"}
	}
	return cookies{prefix: "__Host-svc-oauth-", secure: true}
}

// name returns the name of the cookie of a sign-in with a state.
func (c cookies) name(state string) string { return c.prefix + state[:min(8, len(state))] }

// read returns the received values, by the names of their cookies.
func (c cookies) read(call *web.Call) map[string]string {
	request := http.Request{Header: http.Header{"Cookie": {call.Header("Cookie")}}}
	values := map[string]string{}
	for _, sent := range request.Cookies() {
		if strings.HasPrefix(sent.Name, c.prefix) {
			values[sent.Name] = sent.Value
		}
	}
	return values
}

// set returns a header Set-Cookie. It is Lax, because the browser returns from the provider's site.
func (c cookies) set(name, value string) string {
	cookie := http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: int(signin.Lifetime.Seconds()), HttpOnly: true, Secure: c.secure,
		SameSite: http.SameSiteLaxMode,
	}
	if value == "" {
		cookie.MaxAge = -1 // removes it
	}
	return cookie.String()
}
