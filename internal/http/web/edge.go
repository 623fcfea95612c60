package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/recital-tts/recital/internal/http/web/bind"
	"github.com/recital-tts/recital/internal/http/web/netconn"
	"github.com/recital-tts/recital/internal/process/tracing"
)

type visitKey struct{}

// visit is one request from its head to the last byte of its answer.
type visit struct {
	*Call
	path     string    // still escaped
	body     []byte    // no buffer of fasthttp's, so what is bound may keep parts of it
	endpoint *endpoint // nil when no route matches
	life     *lifetime
	span     tracing.Span // of the request
	begun    time.Time
	trace    string // the client's own id of the request, for the log
	status   int    // for log and metrics; the answer's status unless set
	stream   *streamBody
	release  func()

	form      *bind.Form // of an upload
	upload    *upload    // that has not been read, nil for none
	takenOver bool       // the connection, from fasthttp
	closeCode int        // of a WebSocket that was closed in order
}

// serveHTTP wraps all that Fiber does, so that every answer has its request id and its log line.
func (s *Server) serveHTTP(http *fasthttp.RequestCtx) {
	conn := connOf(http)
	conn.SetServing()
	v := s.open(http)
	v.upload = uploadOf(http)
	if v.upload == nil {
		v.body = http.Request.SwapBody(nil) // a copy would need the memory twice
		conn.ShrinkClaim(cap(v.body))
	}
	v.path = rawPath(http.Request.Header.RequestURI())
	v.endpoint = s.table.match(v.Method(), v.path)
	traced, span := s.trace(v)
	v.span = span
	v.life = begin(traced, conn, v.RequestID, DefaultTimeout)
	v.Call.Context = v.life
	http.SetUserValue(visitKey{}, v)
	if conn.Extra() {
		http.SetConnectionClose()
	}
	s.route(http, v)
	if v.stream == nil && !v.takenOver {
		s.close(v, bodySize(http), nil)
	}
}

func bodySize(http *fasthttp.RequestCtx) int64 {
	if http.IsHead() {
		return 0
	}
	return int64(len(http.Response.Body()))
}

// open makes the visit of a request and the headers that every answer has.
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
		response.Set("Strict-Transport-Security", "max-age=31536000") // a year, of this host alone: others of its domain are not ours
	}
	if !s.cfg.NoCORS {
		s.allowOrigin(http)
	}
	return v
}

// route answers a request. Fiber serves it when an endpoint was found.
func (s *Server) route(http *fasthttp.RequestCtx, v *visit) {
	defer func() {
		if cause := recover(); cause != nil {
			s.refuse(v, panicError(cause))
		}
	}()
	switch {
	case v.Method() == fiber.MethodOptions:
		s.options(http, v)
	case v.endpoint == nil:
		s.tell(v, s.unmatched(v.path))
	default:
		s.routed(http)
	}
}

func knownMethod(method string) bool {
	switch method {
	case fiber.MethodGet, fiber.MethodHead, fiber.MethodPost, fiber.MethodPut, fiber.MethodDelete, fiber.MethodPatch:
		return true
	}
	return false
}

// close logs and counts a request whose answer has been decided, or for streams, sent.
func (s *Server) close(v *visit, bytes int64, streamed error) {
	if v.life != nil {
		v.life.end()
	}
	if v.release != nil {
		v.release()
	}
	told := Observation{Method: "other", Status: v.status, Duration: time.Since(v.begun), Bytes: bytes, Aborted: streamed != nil}
	if method := v.Method(); knownMethod(method) || method == fiber.MethodOptions {
		told.Method = method
	}
	if v.Route != nil {
		told.Route = v.Route.Path
	}
	if told.Status == 0 {
		told.Status = v.http.Response.StatusCode()
	}
	if errors.Is(streamed, errClientGone) {
		told.Status = statusClientGone
	}
	v.endTrace(told)
	s.logVisit(v, told)
	if s.cfg.Observe != nil {
		s.cfg.Observe(told)
	}
}

// logVisit writes the access line. Paths, queries and headers stay out of it: they hold texts and keys.
func (s *Server) logVisit(v *visit, told Observation) {
	if !s.log.Enabled(v, slog.LevelInfo) {
		return
	}
	line := []slog.Attr{
		slog.String("method", told.Method), slog.String("route", told.Route), slog.Int("status", told.Status),
		slog.Int64("bytes", told.Bytes), slog.Duration("duration", told.Duration), slog.String("request_id", v.RequestID),
	}
	if v.Principal.Account != "" {
		line = append(line, slog.String("account", v.Principal.Account))
	}
	if v.trace != "" {
		line = append(line, slog.String("trace", v.trace))
	}
	if v.closeCode != 0 {
		line = append(line, slog.Int("close_code", v.closeCode))
	}
	if told.Aborted {
		line = append(line, slog.Bool("aborted", true))
	}
	s.log.LogAttrs(v, slog.LevelInfo, "request", line...)
}

// refuse responds with an error, and logs what the client may not see of it.
func (s *Server) refuse(v *visit, err error) {
	if v.life != nil {
		err = v.life.why(err)
	}
	told := answerTo(err)
	if told.internal {
		s.log.LogAttrs(v, slog.LevelError, "request failed", slog.String("route", routePath(v.Call)), slog.Int("status", told.status),
			slog.String("request_id", v.RequestID), slog.Any("error", err))
	}
	s.tell(v, told)
}

func routePath(call *Call) string {
	if call.Route == nil {
		return ""
	}
	return call.Route.Path
}

// tell writes an answer that is not the handler's.
func (s *Server) tell(v *visit, told answer) {
	response := &v.http.Response
	v.status = told.status
	status := told.status
	if status == statusClientGone {
		status = http.StatusServiceUnavailable // nobody reads it
		v.http.SetConnectionClose()
	}
	setHeaders(&response.Header, told.headers())
	if told.allow != "" {
		response.Header.Set("Allow", told.allow)
	}
	body, err := encodeJSON(told.body(v.Dialect, v.RequestID))
	if err != nil {
		body = []byte(`{"error":"Internal Server Error"}`)
	}
	response.SetStatusCode(status)
	response.Header.SetContentType("application/json")
	response.SetBodyRaw(body)
}

// unreadable answers requests that fasthttp could not read. They never reach serveHTTP.
func (s *Server) unreadable(c *fiber.Ctx, err error) error {
	http := c.Context()
	v := s.open(http)
	s.tell(v, unreadableRequest(err))
	connOf(http).LingerOnClose()
	s.close(v, bodySize(http), nil)
	return nil
}

func unreadableRequest(err error) answer {
	told := answer{status: http.StatusBadRequest, message: "The request could not be read"}
	var known *fiber.Error
	if !errors.As(err, &known) {
		return told
	}
	switch known.Code {
	case http.StatusRequestEntityTooLarge:
		return tooLarge()
	case http.StatusRequestHeaderFieldsTooLarge:
		return answer{status: known.Code, message: "The request's headers are too large"}
	case http.StatusRequestTimeout:
		return answer{status: known.Code, message: notInTime}
	}
	return told
}

const notInTime = "The request did not arrive in time"

func tooLarge() answer {
	return answer{status: http.StatusRequestEntityTooLarge, message: "The request's body is too large"}
}

// unmatched is 404, or 405 when the path has routes of other methods.
func (s *Server) unmatched(path string) answer {
	allow := s.table.allowed(path)
	if allow == "" {
		return notFound()
	}
	return answer{status: fasthttp.StatusMethodNotAllowed, message: "Method Not Allowed", detail: true, allow: allow}
}

func (s *Server) options(http *fasthttp.RequestCtx, v *visit) {
	if !s.cfg.NoCORS && isPreflight(http) {
		preflight(http)
		return
	}
	allow := s.table.allowed(v.path)
	if allow == "" {
		s.tell(v, notFound())
		return
	}
	http.Response.Header.Set("Allow", allow)
	http.SetStatusCode(fasthttp.StatusNoContent)
}

// panicError describes a panic without its value, which may hold a client's text, unless the runtime made it.
func panicError(cause any) error {
	if fault, ok := cause.(runtime.Error); ok {
		return fmt.Errorf("%w: %w\n%s", errHandlerPanic, fault, debug.Stack())
	}
	return fmt.Errorf("%w with a %T\n%s", errHandlerPanic, cause, debug.Stack())
}

func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func connOf(http *fasthttp.RequestCtx) *netconn.Conn { return http.Conn().(*netconn.Conn) }
