package web

import (
	"regexp"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
)

// sameOrigin reports whether a page of the service, or of an allowed origin, makes a request: a browser says so in
// headers that no page can set (Fetch Metadata, and the Origin of RFC 6454). What says nothing is not taken for one.
func (s *Server) sameOrigin(call *Call) bool {
	origin := call.Header("Origin")
	return call.Header("Sec-Fetch-Site") == "same-origin" || s.allows(origin) ||
		strings.EqualFold(origin, s.ownOrigin(call))
}

// proves reports whether the cookie of a request may change something: a page of the service or of an allowed origin
// makes it, or, where the route permits, the browser's window goes there.
func (s *Server) proves(call *Call, e *endpoint) bool {
	if e.Navigable && call.Header("Sec-Fetch-Mode") == "navigate" {
		return !call.Loaded()
	}
	return s.sameOrigin(call)
}

// Loaded reports whether a page, or the browser ahead of its user, loads what is asked for, instead of the window's
// going there. It is false where the browser does not say (Fetch Metadata).
func (c *Call) Loaded() bool {
	mode, dest := c.Header("Sec-Fetch-Mode"), c.Header("Sec-Fetch-Dest")
	return mode != "" && mode != "navigate" || dest != "" && dest != "document" || c.Header("Sec-Purpose") != ""
}

// LoadedElsewhere reports whether a page of another origin loads what is asked for, for which browsers show no cookie
// unless they are told to, and many not even then.
func (c *Call) LoadedElsewhere() bool {
	return c.elsewhere && (c.Loaded() || c.Header("Sec-Fetch-Mode") == "")
}

// isElsewhere reports whether a page of another origin makes a request, as far as its browser says.
func (s *Server) isElsewhere(call *Call) bool {
	if site := call.Header("Sec-Fetch-Site"); site != "" {
		return site == "cross-site" || site == "same-site"
	}
	origin := call.Header("Origin")
	return origin != "" && !strings.EqualFold(origin, s.ownOrigin(call))
}

// ownOrigin is the origin of the service's own pages.
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
	preflightHours = "7200" // seconds; the most that Chromium keeps
)

var headerListPattern = regexp.MustCompile(`^[A-Za-z0-9_-]+(\s*,\s*[A-Za-z0-9_-]+)*$`)

// allowOrigin lets scripts of any origin read the answer. Those of allowed origins may have the browser show its
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

// preflight answers what a browser asks before a request that is not simple.
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
