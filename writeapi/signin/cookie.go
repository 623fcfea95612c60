package signin

import (
	"net/http"
	"net/url"

	"github.com/recital-tts/recital/internal/signin"
	"github.com/recital-tts/recital/internal/web"
)

// cookie binds sign-ins to the browser that has begun them. Where the service has TLS, other hosts of its domain cannot
// set it (RFC 6265bis, 4.1.3.2).
type cookie struct {
	name   string
	secure bool
}

// browserCookie returns the cookie of a service whose callback has a URL.
func browserCookie(callback string) cookie {
	u, err := url.Parse(callback)
	if err == nil && u.Scheme == "http" && signin.IsLoopback(u.Host) { // browsers keep no secure cookies of such a service
		return cookie{name: "svc-oauth"}
	}
	return cookie{name: "__Host-svc-oauth", secure: true}
}

// read returns the value that a browser has sent, "" for none.
func (c cookie) read(call *web.Call) string {
	request := http.Request{Header: http.Header{"Cookie": {call.Header("Cookie")}}}
	sent, err := request.Cookie(c.name)
	if err != nil {
		return ""
	}
	return sent.Value
}

// set returns a header Set-Cookie. Lax, because the browser comes back from the provider's site.
func (c cookie) set(value string) string {
	return (&http.Cookie{
		Name: c.name, Value: value, Path: "/", MaxAge: int(signin.Lifetime.Seconds()), HttpOnly: true, Secure: c.secure, SameSite: http.SameSiteLaxMode,
	}).String()
}
