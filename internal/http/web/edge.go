package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/recital-tts/recital/internal/http/web/bind"
	"github.com/recital-tts/recital/internal/http/web/netconn"
	"github.com/recital-tts/recital/internal/process/tracing"
)

type visitKey struct{}

// visit is one request from its head to the last byte of its response.
type visit struct {
	*Call
	endpoint *endpoint         // nil when no route matches
	params   map[string]string // the path's parameters
	body     []byte            // not fasthttp's buffer, so bound values may keep parts of it
	life     *lifetime
	span     tracing.Span // of the request
	begun    time.Time
	trace    string // the client's own request id, for the log
	status   int    // for log and metrics; the response's status unless set
	stream   *streamBody
	release  func() // of the disk for an upload; nil for none

	form      *bind.Form // of an upload
	upload    *upload    // unread; nil for none
	takenOver bool       // the connection was taken over from fasthttp
	closeCode int        // of a WebSocket that was closed properly
}

func visitOf(c *fiber.Ctx) *visit { return c.Context().UserValue(visitKey{}).(*visit) }

// serveHTTP passes requests to Fiber, except those with a method unknown to it.
func (s *Server) serveHTTP(http *fasthttp.RequestCtx) {
	connOf(http).SetServing()
	if connOf(http).Extra() {
		http.SetConnectionClose()
	}
	path := rawPath(http.Request.Header.RequestURI())
	if slices.Contains(methods, string(http.Method())) {
		if uri := http.URI(); string(uri.PathOriginal()) != path { // a target such as * or one with a scheme
			uri.SetPath(path)
		}
		s.fiber(http)
		return
	}
	v := s.open(http)
	s.allowOrigin(http)
	s.respond(v, s.unmatched(path))
	s.close(v, bodySize(http), nil)
}

// observed makes the visit of a request, responds with its error, and logs and counts it.
func (s *Server) observed(c *fiber.Ctx) error {
	v := s.open(c.Context())
	v.http.SetUserValue(visitKey{}, v)
	if v.upload = uploadOf(v.http); v.upload == nil {
		v.body = v.http.Request.SwapBody(nil) // a copy would need the memory twice
		connOf(v.http).ShrinkClaim(cap(v.body))
	}
	if err := c.Next(); err != nil {
		s.refuse(v, err)
	}
	if v.stream == nil && !v.takenOver {
		s.close(v, bodySize(v.http), nil)
	}
	return nil
}

// open returns the visit of a request and sets the headers of every response.
func (s *Server) open(http *fasthttp.RequestCtx) *visit {
	request, response := &http.Request.Header, &http.Response.Header
	v := &visit{begun: time.Now(), Call: &Call{
		Context: context.Background(), http: http, country: s.countryOf(http), plainCookies: s.cfg.PlainCookies,
		Caller: Caller{RequestID: newRequestID(), Client: s.clientOf(http)},
	}}
	v.elsewhere = s.isElsewhere(v.Call)
	v.Dialect = ParseDialect(string(request.Peek(headerDialect)))
	v.trace = traceID(request.Peek(headerRequestIDToo))
	response.Set(headerRequestID, v.RequestID)
	response.Set(headerRequestIDToo, v.RequestID)
	response.Set("X-Content-Type-Options", "nosniff")
	response.Set("Content-Security-Policy", "frame-ancestors 'none'")
	if strings.HasPrefix(s.cfg.Origin, "https:") {
		// one year, only for this host: the rest of its domain may belong to others
		response.Set("Strict-Transport-Security", "max-age=31536000")
	}
	return v
}

// recovered turns a panic into an error.
func recovered(c *fiber.Ctx) (err error) {
	defer recoverTo(&err)
	return c.Next()
}

// traced begins the trace of a request and its context.
func (s *Server) traced(c *fiber.Ctx) error {
	v := visitOf(c)
	ctx := s.trace(v, c.Path())
	v.life = begin(ctx, connOf(v.http), v.RequestID, defaultTimeout)
	v.Call.Context = v.life
	return c.Next()
}

// crossOrigin allows scripts of other origins, and answers OPTIONS.
func (s *Server) crossOrigin(c *fiber.Ctx) error {
	http := c.Context()
	s.allowOrigin(http)
	switch {
	case !http.IsOptions():
		return c.Next()
	case !s.cfg.NoCORS && isPreflight(http):
		preflight(http)
		return nil
	}
	allow := s.table.allowed(c.Path())
	if allow == "" {
		return errNotFound
	}
	http.Response.Header.Set("Allow", allow)
	http.SetStatusCode(fasthttp.StatusNoContent)
	return nil
}

// unmatchedRoute answers requests that match no route.
func (s *Server) unmatchedRoute(c *fiber.Ctx) error {
	s.respond(visitOf(c), s.unmatched(c.Path()))
	return nil
}

// unmatched returns 404, or 405 if the path has routes with other methods.
func (s *Server) unmatched(path string) answer {
	allow := s.table.allowed(path)
	if allow == "" {
		return answerTo(errNotFound)
	}
	return answer{allow: allow, Error: Error{
		Status: http.StatusMethodNotAllowed, Message: "Method Not Allowed", Detail: true,
	}}
}

var errNotFound = &Error{Status: http.StatusNotFound, Message: "Not Found", Detail: true}

func bodySize(http *fasthttp.RequestCtx) int64 {
	if http.IsHead() {
		return 0
	}
	return int64(len(http.Response.Body()))
}

// close logs and counts a request, once its response is decided or, for streams, sent.
func (s *Server) close(v *visit, bytes int64, streamed error) {
	if v.life != nil {
		v.life.end()
	}
	if v.release != nil {
		v.release()
	}
	seen := Observation{
		Method: "other", Route: routePath(v.Call), Status: v.status, Duration: time.Since(v.begun),
		Bytes: bytes, Aborted: streamed != nil,
	}
	if method := v.Method(); slices.Contains(methods, method) {
		seen.Method = method
	}
	if seen.Status == 0 {
		seen.Status = v.http.Response.StatusCode()
	}
	if errors.Is(streamed, errClientGone) {
		seen.Status = statusClientGone
	}
	v.endTrace(seen)
	s.logVisit(v, seen)
	if s.cfg.Observe != nil {
		s.cfg.Observe(seen)
	}
}

// logVisit writes the access line. It omits paths, queries and headers, which contain texts and keys.
func (s *Server) logVisit(v *visit, seen Observation) {
	if !s.log.Enabled(v, slog.LevelInfo) {
		return
	}
	// Logger would look up its caller, which is not logged.
	line := slog.NewRecord(time.Now(), slog.LevelInfo, "request", 0)
	line.AddAttrs(
		slog.String("method", seen.Method), slog.String("route", seen.Route), slog.Int("status", seen.Status),
		slog.Int64("bytes", seen.Bytes), slog.Duration("duration", seen.Duration), slog.String("request_id", v.RequestID))
	if v.Principal.Account != "" {
		line.AddAttrs(slog.String("account", v.Principal.Account))
	}
	if v.trace != "" {
		line.AddAttrs(slog.String("trace", v.trace))
	}
	if v.closeCode != 0 {
		line.AddAttrs(slog.Int("close_code", v.closeCode))
	}
	if seen.Aborted {
		line.AddAttrs(slog.Bool("aborted", true))
	}
	_ = s.log.Handler().Handle(v, line) // as Logger ignores it
}

// logError logs an error that is hidden from the client.
func (s *Server) logError(v *visit, message string, err error, attrs ...slog.Attr) {
	s.log.LogAttrs(v, slog.LevelError, message, append(attrs,
		slog.String("route", routePath(v.Call)), slog.String("request_id", v.RequestID), slog.Any("error", err))...)
}

func routePath(call *Call) string {
	if call.Route == nil {
		return ""
	}
	return call.Route.Path
}

// refuse responds with an error, and logs the details that are hidden from the client.
func (s *Server) refuse(v *visit, err error) {
	if v.life != nil {
		err = v.life.why(err)
	}
	refusal := answerTo(err)
	if refusal.internal {
		s.logError(v, "request failed", err, slog.Int("status", refusal.Status))
	}
	s.respond(v, refusal)
}

// refuseUnread responds to a request that does not reach Fiber, because it or its body is not read.
func (s *Server) refuseUnread(http *fasthttp.RequestCtx, e *endpoint, refusal answer) (status int) {
	v := s.open(http)
	s.allowOrigin(http)
	if e != nil {
		v.enterRoute(e.Route)
	}
	s.respond(v, refusal)
	connOf(http).LingerOnClose()
	s.close(v, bodySize(http), nil)
	return v.status
}

// respond writes a response of the server itself.
func (s *Server) respond(v *visit, a answer) {
	response := &v.http.Response
	if v.Dialect == OpenAI {
		a = a.forOpenAI()
	}
	v.status = a.Status
	status := a.Status
	if status == statusClientGone {
		status = http.StatusServiceUnavailable // the client has gone
		v.http.SetConnectionClose()
	}
	setHeaders(&response.Header, a.headers())
	if a.allow != "" {
		response.Header.Set("Allow", a.allow)
	}
	body, err := encodeJSON(a.body(v.Dialect, v.RequestID))
	if err != nil {
		body = []byte(`{"error":"Internal Server Error"}`)
	}
	response.SetStatusCode(status)
	response.Header.SetContentType("application/json")
	response.SetBodyRaw(body)
}

// unreadable answers requests that fasthttp could not read.
func (s *Server) unreadable(c *fiber.Ctx, err error) error {
	s.refuseUnread(c.Context(), nil, answerTo(unreadableRequest(err)))
	return nil
}

func unreadableRequest(err error) error {
	known, _ := errors.AsType[*fiber.Error](err)
	switch {
	case known == nil:
	case known.Code == http.StatusRequestEntityTooLarge:
		return errTooLarge
	case known.Code == http.StatusRequestHeaderFieldsTooLarge:
		return &Error{Status: known.Code, Message: "The request's headers are too large"}
	case known.Code == http.StatusRequestTimeout:
		return errNotInTime
	}
	return &Error{Status: http.StatusBadRequest, Message: "The request could not be read"}
}

// recoverTo is deferred, and replaces the error of its caller by one for a panic. The error contains only values of the
// runtime, because others may include a client's text.
func recoverTo(err *error) {
	switch cause := recover().(type) {
	case nil:
	case runtime.Error:
		*err = fmt.Errorf("%w: %w\n%s", errHandlerPanic, cause, debug.Stack())
	default:
		*err = fmt.Errorf("%w with a %T\n%s", errHandlerPanic, cause, debug.Stack())
	}
}

func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func connOf(http *fasthttp.RequestCtx) *netconn.Conn { return http.Conn().(*netconn.Conn) }
