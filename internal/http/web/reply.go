package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/recital-tts/recital/internal/http/web/bind"
	"github.com/recital-tts/recital/internal/http/web/conditional"
)

// Reply is the reply of a handler. The zero Reply is an empty 200.
type Reply struct {
	status      int
	headers     [][2]string
	contentType string
	body        []byte
	value       any
	encode      bool
	stream      StreamWriter
	length      *int64 // of the stream, in bytes; nil if it is unknown
}

// StreamWriter writes a body piece by piece. Each Write of w is a separate chunk on the wire, and returns when the
// connection has accepted it. ctx ends when the client has disconnected, when Limits.Stream has passed and when the
// server is shut down. An error that leaves the body incomplete must be returned: the connection is then cut, so that
// the client cannot mistake the body for a complete one.
type StreamWriter func(ctx context.Context, w io.Writer) error

// JSON returns a reply with v as JSON.
func JSON(v any) Reply { return Reply{value: v, encode: true, contentType: "application/json"} }

// Bytes returns a reply with b, which must not be modified afterwards.
func Bytes(contentType string, b []byte) Reply { return Reply{body: b, contentType: contentType} }

// Stream returns a reply with the output of write. The head is sent when the handler has returned, before write runs.
func Stream(contentType string, write func(ctx context.Context, w io.Writer) error) Reply {
	return Reply{stream: write, contentType: contentType}
}

// WithLength sets the length of a stream in bytes. It is then sent with a Content-Length and not in chunks, also in
// replies to HEAD. A stream that writes another number of bytes is cut.
func (r Reply) WithLength(bytes int64) Reply {
	r.length = &bytes
	return r
}

// Redirect returns a redirection to a location, with status 302, 303, 307 or 308.
func Redirect(status int, location string) Reply {
	return Reply{status: status}.WithHeader("Location", location)
}

// WithStatus sets the status.
func (r Reply) WithStatus(status int) Reply {
	r.status = status
	return r
}

// WithHeader adds a header. The same name may be added several times, as needed for Set-Cookie.
func (r Reply) WithHeader(name, value string) Reply {
	r.headers = append(r.headers[:len(r.headers):len(r.headers)], [2]string{name, value})
	return r
}

// bytes returns the body of a reply that is not a stream.
func (r *Reply) bytes() ([]byte, error) {
	if !r.encode {
		return r.body, nil
	}
	return encodeJSON(r.value)
}

// encodeJSON encodes v without escaping <, > and &, because bodies are not embedded in HTML.
func encodeJSON(v any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding the reply: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// Content is a body for clients that cache it and send conditional requests.
type Content struct {
	Tag          string // the entity tag, in quotes: the same for the same bytes
	CacheControl string
	Size         int64 // in bytes
	Ranges       bool  // parts can be requested
	// Body returns the reply with a part of the body: all of it unless Ranges is set.
	Body func(conditional.Part) (Reply, error)
}

// Serve replies according to the conditions of the request: with the body, a part of it (206), 304 if the client has
// it, or 416 if there is no such part.
func (c Content) Serve(call *Call, given conditional.Headers) (Reply, error) {
	call.SetHeader("ETag", c.Tag)
	call.SetHeader("Cache-Control", c.CacheControl)
	if c.Ranges {
		call.SetHeader("Accept-Ranges", "bytes")
	}
	if given.Matches(c.Tag) {
		return Reply{}.WithStatus(http.StatusNotModified), nil
	}
	if !c.Ranges {
		return c.Body(conditional.Part{Length: c.Size})
	}
	part, partial, err := given.Part(c.Tag, c.Size)
	if err != nil {
		call.SetHeader("Content-Range", conditional.Unsatisfied(c.Size))
		return Reply{}, &Error{Status: http.StatusRequestedRangeNotSatisfiable, Message: "There is no such range"}
	}
	reply, err := c.Body(part)
	if partial {
		reply = reply.WithStatus(http.StatusPartialContent).WithHeader("Content-Range", part.ContentRange(c.Size))
	}
	return reply, err
}

// streamBody runs the writer on fasthttp's connection goroutine: WriteTo gets a writer that frames and flushes each
// piece. A Write thus returns only when the connection has accepted its piece, the writer never outlives its
// connection, and no piece waits in a pipe. An error of WriteTo cuts the connection. With fasthttp's own
// SetBodyStreamWriter, an error would end the body cleanly, and a panic would end the process.
type streamBody struct {
	life    *lifetime
	write   StreamWriter
	limit   time.Duration
	written atomic.Int64
	result  error
	once    sync.Once
	done    func(bytes int64, err error)
}

// SupportsBodyWriteTo makes fasthttp use WriteTo.
func (b *streamBody) SupportsBodyWriteTo() bool { return true }

// Read is never used, because WriteTo is.
func (b *streamBody) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }

// WriteTo runs the writer.
func (b *streamBody) WriteTo(w io.Writer) (int64, error) {
	b.life.extend(b.limit)
	out := &chunkWriter{ctx: b.life, to: w, written: &b.written}
	b.result = b.run(out)
	out.ended.Store(true)
	return b.written.Load(), b.result
}

func (b *streamBody) run(out io.Writer) (err error) {
	defer recoverTo(&err)
	if err := b.write(b.life, out); err != nil {
		return fmt.Errorf("writing the stream: %w", b.life.why(err))
	}
	if b.life.Err() != nil {
		// the writer was stopped, and may not have written everything
		return fmt.Errorf("writing the stream: %w", context.Cause(b.life))
	}
	return nil
}

// Close is called by fasthttp at the end of the response, whether WriteTo ran or not.
func (b *streamBody) Close() error {
	b.once.Do(func() { b.done(b.written.Load(), b.result) })
	return nil
}

// chunkWriter writes to the connection until the stream ends.
type chunkWriter struct {
	ctx     context.Context
	to      io.Writer
	written *atomic.Int64
	ended   atomic.Bool
}

func (w *chunkWriter) Write(p []byte) (int, error) {
	if w.ended.Load() {
		return 0, fmt.Errorf("writing to the stream: %w", io.ErrClosedPipe)
	}
	if err := w.ctx.Err(); err != nil {
		return 0, fmt.Errorf("writing to the stream: %w", context.Cause(w.ctx))
	}
	n, err := w.to.Write(p)
	w.written.Add(int64(n))
	if err != nil {
		return n, fmt.Errorf("writing to the stream: %w: %w", errClientGone, err)
	}
	return n, nil
}

// Principal is the owner of a credential. The zero value is anonymous.
type Principal struct {
	Account string
	Key     string // the API key used, masked
	Session string // the id of the browser's session; "" with an API key
	Plan    string // the account's plan at the last check

	Operator      bool      // whether the account had the role at the last check
	SessionOpened time.Time // when Session was opened
}

// Anonymous reports whether there is no credential.
func (p Principal) Anonymous() bool { return p == Principal{} }

// Caller identifies who makes a request, for the metadata of a command.
type Caller struct {
	RequestID string // as in the header request-id
	Principal Principal
	Role      string // of the admin token, on routes with Role
	Operator  string // the name of the admin token's holder, or ""
	Reason    string // of an operator's act, from the header x-recital-reason

	// Client is the address of the client: the peer's, unless that is a trusted proxy; zero for a unix socket.
	Client netip.Addr
}

// Authenticator looks up credentials.
type Authenticator interface {
	// APIKey looks up the owner of a key. A domain.Unauthenticated error becomes 401, any other one 503 or 500.
	APIKey(ctx context.Context, key string) (Principal, error)
}

// Call is one request for a handler. Its context ends at the route's deadline, when the client is known to have
// disconnected, and when the server is shut down. For the writer of a stream it continues until the stream ends. A Call
// is used by one goroutine at a time and not after the handler, or the writer of its stream, has returned.
type Call struct {
	context.Context
	Caller
	Dialect Dialect
	Route   *Route
	// OperatorSessionEnds is the end of the operator's session; zero with a token.
	OperatorSessionEnds time.Time

	plan         *bind.Plan
	http         *fasthttp.RequestCtx
	country      string
	plainCookies bool // cookies are also sent without TLS
	elsewhere    bool // the request comes from a page of another origin
}

// Wrong returns the error for an input that a handler refuses, by its name ("" for a raw body), as pydantic's
// value_error.
func (c *Call) Wrong(input, why string) Item { return c.plan.Wrong(input, why) }

// Invalid returns the 422 for one wrong input.
func (c *Call) Invalid(input, why string) error { return Invalid(c.Wrong(input, why)) }

// SetHeader sets a header of the reply, including a refusal. For a stream it must be called before the handler returns.
func (c *Call) SetHeader(name, value string) { c.http.Response.Header.Set(name, value) }

// Vary declares that the reply depends on a header of the request, in addition to those that the server reads.
func (c *Call) Vary(header string) { c.http.Response.Header.Add("Vary", header) }

// Header returns a copy of a request header, or "".
func (c *Call) Header(name string) string { return string(c.http.Request.Header.Peek(name)) }

// Method returns the request's method.
func (c *Call) Method() string { return string(c.http.Method()) }

// Loopback reports whether the request comes from this machine without a proxy: from a loopback peer (or a unix
// socket), without headers of proxies.
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

// fromPage reports whether the request comes from a page in a browser.
func (c *Call) fromPage() bool { return c.Header("Origin") != "" || c.Header("Sec-Fetch-Site") != "" }

// SetPosition sends the log position of the write or the read. The client may send it back as x-recital-min-position.
func (c *Call) SetPosition(position string) { c.SetHeader(headerPosition, position) }

// SetStale marks the reply as stale: a read model did not reach the write in time.
func (c *Call) SetStale() { SetHeaders(c, WriteHeaders{Stale: new("true")}) }

// Names of headers.
const (
	headerRequestID    = "request-id"
	headerRequestIDToo = "x-request-id"
	headerPosition     = "x-recital-position"
	headerMinPosition  = "x-recital-min-position"
	headerDialect      = "lmnt-version"
	headerAPIKey       = "x-api-key"
)

// ReplyHeaders are on every reply.
type ReplyHeaders struct {
	RequestID string `header:"request-id" doc:"Names the request in logs."`
}

// RefusalHeaders may be on every refusal.
type RefusalHeaders struct {
	RetryAfter  *int    `header:"retry-after" ge:"1" doc:"After how many seconds to ask again."`
	ShouldRetry *string `header:"x-should-retry" literal:"true,false" doc:"Whether the same request may succeed later."`
}

// WriteHeaders may be on every reply to a write; the position is on replies that show views, too.
type WriteHeaders struct {
	Position *string `header:"x-recital-position" doc:"The position in the log that the write has reached, or that the read shows, for x-recital-min-position."`
	Stale    *string `header:"x-recital-stale" literal:"true" doc:"Reads may not show the write yet."`
}

// SetHeaders sets the headers in a struct, except nil pointers. Package bind explains the tags of its fields, and
// SendsHeaders declares it.
func SetHeaders[T any](call *Call, headers T) { setHeaders(&call.http.Response.Header, headers) }

func setHeaders[T any](response *fasthttp.ResponseHeader, headers T) {
	bind.EachHeader(reflect.ValueOf(headers), response.Set)
}

// headerFields returns the headers that a struct declares.
func headerFields(t reflect.Type) ([]bind.Field, error) {
	plan, err := bind.Compile(t)
	if err != nil {
		return nil, err
	}
	fields := plan.Fields()
	for _, f := range fields {
		if f.Source != "header" {
			return nil, fmt.Errorf("the field %s of %s is no header", f.Name, t)
		}
	}
	return fields, nil
}

// exposedHeaders lists the headers that CORS exposes to scripts: the server's own, and those that the routes declare.
func exposedHeaders(routes []Route) (string, error) {
	structs := []reflect.Type{
		reflect.TypeFor[ReplyHeaders](), reflect.TypeFor[RefusalHeaders](), reflect.TypeFor[WriteHeaders](),
	}
	names := map[string]bool{headerRequestIDToo: true}
	for i := range routes {
		for _, o := range routes[i].Outcomes {
			structs = append(structs, o.Headers...)
			for _, name := range slices.Concat(o.Sends, o.MaySend) {
				names[name] = true
			}
		}
	}
	for _, t := range structs {
		fields, err := headerFields(t)
		if err != nil {
			return "", fmt.Errorf("reading declared headers: %w", err)
		}
		for _, f := range fields {
			names[f.Name] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ", "), nil
}
