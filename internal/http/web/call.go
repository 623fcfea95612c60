package web

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/recital-tts/recital/internal/http/web/bind"
)

// Principal is the owner of a credential. The zero value is nobody.
type Principal struct {
	Account string
	Key     string // the API key used, masked
	Session string // the id of the browser's session, "" where an API key is used
	Plan    string // the account's, when it was last looked at

	Operator      bool      // the account has the role, when it was last looked at
	SessionOpened time.Time // when Session was opened
}

// Anonymous reports whether the principal is nobody.
func (p Principal) Anonymous() bool { return p == Principal{} }

// Caller is who makes a request: what the metadata of a command is made of.
type Caller struct {
	RequestID string // as in the header request-id
	Principal Principal
	Role      string // of the admin token, on routes with Role
	Operator  string // the name of the admin token's holder, "" when its file has none
	Reason    string // of an operator's act, from the header x-recital-reason

	// Client is the address of the client: of the peer, unless that is a trusted proxy; zero where a unix socket has
	// none.
	Client netip.Addr
}

// Authenticator looks credentials up.
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
	Caller
	Dialect Dialect
	Route   *Route
	// OperatorSessionEnds is when the session ends that shows the operator; zero where a token does.
	OperatorSessionEnds time.Time

	plan         *bind.Plan
	http         *fasthttp.RequestCtx
	country      string
	plainCookies bool // cookies are sent without TLS, too
	elsewhere    bool // a page of another origin makes the request
}

// Wrong is what a handler finds wrong with an input of the route, by its name there, in the words of pydantic's
// value_error. The binder knows its place; "" is a raw body.
func (c *Call) Wrong(input, why string) Item { return c.plan.Wrong(input, why) }

// Invalid is the 422 for one input that is Wrong.
func (c *Call) Invalid(input, why string) error { return Invalid(c.Wrong(input, why)) }

// SetHeader sets a header of the reply; it counts for refusals too. For a stream it must be called before the handler
// returns.
func (c *Call) SetHeader(name, value string) { c.http.Response.Header.Set(name, value) }

// Vary says that the reply depends on a header of the request, beside those that the edge looks at.
func (c *Call) Vary(header string) { c.http.Response.Header.Add("Vary", header) }

// Header is a copy of a request header, "" when there is none.
func (c *Call) Header(name string) string { return string(c.http.Request.Header.Peek(name)) }

// Method is the request's method.
func (c *Call) Method() string { return string(c.http.Method()) }

// Loopback reports whether the request comes from this machine and through no proxy: a loopback peer (or a unix socket)
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

// fromPage reports whether a page in a browser makes the request.
func (c *Call) fromPage() bool { return c.Header("Origin") != "" || c.Header("Sec-Fetch-Site") != "" }

// SetPosition sends the log position that the write has reached, or that the read shows, which the client may send back
// as x-recital-min-position.
func (c *Call) SetPosition(position string) { SetHeaders(c, WriteHeaders{Position: &position}) }

// SetStale marks the reply: a read model did not reach the write in time.
func (c *Call) SetStale() { SetHeaders(c, WriteHeaders{Stale: new("true")}) }
