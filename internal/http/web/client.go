package web

import (
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/recital-tts/recital/internal/http/web/quota"
)

// clientOf returns the address of a request's client. Behind trusted proxies it is the rightmost address in
// X-Forwarded-For that is not a trusted proxy's: addresses to the left of it are claims of the client. A proxy that
// names no client counts as the client.
func (s *Server) clientOf(http *fasthttp.RequestCtx) netip.Addr {
	client := quota.Address(http.RemoteAddr())
	if !s.trusts(client) {
		return client
	}
	var hops []string
	for _, line := range http.Request.Header.PeekAll("X-Forwarded-For") {
		hops = append(hops, strings.Split(string(line), ",")...)
	}
	for _, hop := range slices.Backward(hops) {
		before, err := parseHop(strings.TrimSpace(hop))
		if err != nil {
			return client
		}
		if client = before; !s.trusts(client) {
			return client
		}
	}
	return client
}

// parseHop reads an address, which some proxies write with its port.
func parseHop(hop string) (netip.Addr, error) {
	if host, _, err := net.SplitHostPort(hop); err == nil {
		hop = host
	}
	addr, err := netip.ParseAddr(strings.Trim(hop, "[]"))
	return addr.Unmap().WithZone(""), err
}

// trusts reports whether an address is a trusted proxy's.
func (s *Server) trusts(addr netip.Addr) bool {
	return slices.ContainsFunc(s.cfg.Proxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// RemoteIP returns Client as text.
func (c *Call) RemoteIP() string { return c.Client.String() }

// Country returns the client's country from the header of a trusted proxy (Config.CountryHeader): ISO 3166-1 alpha-2,
// or "" if it is unknown or the peer is not a trusted proxy.
func (c *Call) Country() string { return c.country }

// countryOf returns the client's country according to a trusted proxy.
func (s *Server) countryOf(http *fasthttp.RequestCtx) string {
	if s.cfg.CountryHeader == "" || !s.trusts(quota.Address(http.RemoteAddr())) {
		return ""
	}
	code := strings.ToUpper(string(http.Request.Header.Peek(s.cfg.CountryHeader)))
	if len(code) != 2 || strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" ||
		slices.Contains(unknownCountries, code) {
		return ""
	}
	return code
}

// unknownCountries are the codes that proxies send for unknown countries: user-assigned codes of ISO 3166-1.
var unknownCountries = []string{"XX", "ZZ"}

const base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// requestIDLength suffices for 128 bits, as in the published API.
const requestIDLength = 22

// newRequestID returns "req_" and 22 random base58 characters.
func newRequestID() string {
	id := make([]byte, 0, 4+requestIDLength)
	id = append(id, "req_"...)
	var random [2 * requestIDLength]byte
	for len(id) < cap(id) {
		rand.Read(random[:]) // never fails
		for _, b := range random {
			// 232 is the largest multiple of 58 in a byte: larger values would favour some characters.
			if b < 232 && len(id) < cap(id) {
				id = append(id, base58[b%58])
			}
		}
	}
	return string(id)
}

var tracePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// traceID returns a client's own x-request-id, or "" if it is not fit for a log.
func traceID(header []byte) string {
	if len(header) == 0 || !tracePattern.Match(header) {
		return ""
	}
	return string(header)
}

// trace begins the trace of a request, except for health checks. Trace headers count only from a trusted proxy.
func (s *Server) trace(v *visit, path string) (ctx context.Context) {
	ctx = context.Background()
	if s.cfg.Traces == nil {
		return ctx
	}
	e := s.table.match(v.Method(), path)
	if e == nil || e.WhileDraining {
		return ctx
	}
	parent := ""
	if s.trusts(quota.Address(v.http.RemoteAddr())) {
		parent = v.Header("traceparent")
	}
	ctx, v.span = s.cfg.Traces.Request(ctx, e.Method+" "+e.Path, parent)
	return ctx
}

// endTrace ends the trace of a request with its outcome.
func (v *visit) endTrace(seen Observation) {
	v.span.Set("http.request.method", seen.Method)
	v.span.Set("http.route", seen.Route)
	v.span.Count("http.response.status_code", seen.Status)
	v.span.Set("recital.request_id", v.RequestID)
	if seen.Aborted || seen.Status >= http.StatusInternalServerError {
		v.span.Fail()
	}
	v.span.End(nil)
}

type requestIDKey struct{}

// RequestIDOf returns the id of the request that a context belongs to, as in the header request-id, or "".
func RequestIDOf(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// sameOrigin reports whether a request comes from a page of the service or of an allowed origin, by headers that no
// page can set (Fetch Metadata, and Origin of RFC 6454). Without these headers it is false.
func (s *Server) sameOrigin(call *Call) bool {
	origin := call.Header("Origin")
	return call.Header("Sec-Fetch-Site") == "same-origin" || s.allows(origin) ||
		strings.EqualFold(origin, s.ownOrigin(call))
}

// proves reports whether the cookie of a request may change something: it comes from a page of the service or of an
// allowed origin, or the user navigates to a Navigable route.
func (s *Server) proves(call *Call, e *endpoint) bool {
	if e.Navigable && call.Header("Sec-Fetch-Mode") == "navigate" {
		return !call.Loaded()
	}
	return s.sameOrigin(call)
}

// Loaded reports whether a page loads the resource, or the browser prefetches it, rather than the user navigating to
// it. It is false without Fetch Metadata.
func (c *Call) Loaded() bool {
	mode, dest := c.Header("Sec-Fetch-Mode"), c.Header("Sec-Fetch-Dest")
	return mode != "" && mode != "navigate" || dest != "" && dest != "document" || c.Header("Sec-Purpose") != ""
}

// LoadedElsewhere reports whether a page of another origin loads the resource. Browsers then send a cookie only on
// request, and many not even then.
func (c *Call) LoadedElsewhere() bool {
	return c.elsewhere && (c.Loaded() || c.Header("Sec-Fetch-Mode") == "")
}

// isElsewhere reports whether a request comes from a page of another origin, according to its browser.
func (s *Server) isElsewhere(call *Call) bool {
	if site := call.Header("Sec-Fetch-Site"); site != "" {
		return site == "cross-site" || site == "same-site"
	}
	origin := call.Header("Origin")
	return origin != "" && !strings.EqualFold(origin, s.ownOrigin(call))
}

// ownOrigin returns the origin of the service's own pages.
func (s *Server) ownOrigin(call *Call) string {
	if s.cfg.Origin != "" {
		return s.cfg.Origin
	}
	return "http://" + string(call.http.Host())
}

// allows reports whether pages of an origin may use the session of a browser.
func (s *Server) allows(origin string) bool {
	return origin != "" && slices.Contains(s.cfg.Origins, origin)
}

const (
	allMethods     = "GET, HEAD, POST, PUT, DELETE, OPTIONS"
	preflightHours = "7200" // seconds; Chromium's maximum
)

var headerListPattern = regexp.MustCompile(`^[A-Za-z0-9_-]+(\s*,\s*[A-Za-z0-9_-]+)*$`)

// allowOrigin lets scripts of any origin read the response. Requests from allowed origins may also carry the browser's
// cookie.
func (s *Server) allowOrigin(http *fasthttp.RequestCtx) {
	if s.cfg.NoCORS {
		return
	}
	header, origin := &http.Response.Header, string(http.Request.Header.Peek("Origin"))
	header.Set("Access-Control-Allow-Origin", "*")
	if len(s.cfg.Origins) > 0 {
		header.Add("Vary", "Origin")
	}
	if s.allows(origin) {
		header.Set("Access-Control-Allow-Origin", origin)
		header.Set("Access-Control-Allow-Credentials", "true")
	}
	if origin != "" {
		header.Set("Access-Control-Expose-Headers", s.exposed)
	}
}

func isPreflight(http *fasthttp.RequestCtx) bool {
	header := &http.Request.Header
	return len(header.Peek("Origin")) > 0 && len(header.Peek("Access-Control-Request-Method")) > 0
}

// preflight answers a CORS preflight request.
func preflight(http *fasthttp.RequestCtx) {
	header := &http.Response.Header
	header.Set("Access-Control-Allow-Methods", allMethods)
	asked := string(http.Request.Header.Peek("Access-Control-Request-Headers"))
	if len(asked) > 1024 || !headerListPattern.MatchString(asked) {
		asked = "*"
	}
	header.Set("Access-Control-Allow-Headers", asked)
	header.Set("Access-Control-Max-Age", preflightHours)
	header.Add("Vary", "Access-Control-Request-Headers")
	http.SetStatusCode(fasthttp.StatusNoContent)
}
