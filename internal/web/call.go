package web

import (
	"context"
	"net"
	"strings"

	"github.com/valyala/fasthttp"
)

// Principal is who is asking. The zero value is nobody.
type Principal struct {
	Account  string
	Key      string // the API key used, masked
	Session  string
	Plan     string // the account's, when it was last looked at
	Operator bool
}

// Anonymous says whether nobody known is asking.
func (p Principal) Anonymous() bool { return p == Principal{} }

// Authenticator finds out who is asking.
type Authenticator interface {
	// APIKey looks up the owner of a key. A domain.Unauthenticated error is answered with 401, every other one
	// with 503 or 500.
	APIKey(ctx context.Context, key string) (Principal, error)
}

// Call is one request, as a handler sees it. Its context ends at the route's deadline, when the client has gone (as far
// as that can be known) and when the server is torn down; for the writer of a stream it goes on until the stream ends.
// A Call is used by one goroutine at a time and not after the handler, or the writer of its stream, has returned.
type Call struct {
	context.Context
	RequestID string
	Dialect   Dialect
	Principal Principal
	Role      string // the role of the admin token, on routes with Role
	Operator  string // the name of the admin token
	Route     *Route

	http *fasthttp.RequestCtx
}

// SetHeader sets a header of the reply; it counts for refusals too. For a stream it must be called before the handler returns.
func (c *Call) SetHeader(name, value string) { c.http.Response.Header.Set(name, value) }

// Header is a copy of a request header, "" when there is none.
func (c *Call) Header(name string) string { return string(c.http.Request.Header.Peek(name)) }

// Method is the request's method.
func (c *Call) Method() string { return string(c.http.Method()) }

// RemoteIP is the address of the peer: behind a proxy the proxy's, because proxy headers are not trusted.
func (c *Call) RemoteIP() string { return c.http.RemoteIP().String() }

// Loopback says whether the request comes from this machine and through no proxy: a loopback peer (or a unix socket)
// and none of the headers that proxies add.
func (c *Call) Loopback() bool {
	switch peer := c.http.RemoteAddr().(type) {
	case *net.TCPAddr:
		if !peer.IP.IsLoopback() {
			return false
		}
	case *net.UnixAddr:
	default:
		return false
	}
	for name := range c.http.Request.Header.All() {
		header := strings.ToLower(string(name))
		if header == "forwarded" || header == "via" || header == "x-real-ip" || strings.HasPrefix(header, "x-forwarded-") {
			return false
		}
	}
	return true
}

// SetPosition tells the client which log position its write has reached, to be sent back as x-recital-min-position.
func (c *Call) SetPosition(position string) { c.SetHeader(headerPosition, position) }

// SetStale tells the client that a read model had not reached its write in time.
func (c *Call) SetStale() { c.SetHeader(headerStale, "true") }
