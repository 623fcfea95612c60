package web

import (
	"regexp"

	"github.com/valyala/fasthttp"
)

const (
	allMethods     = "GET, HEAD, POST, PUT, DELETE, OPTIONS"
	preflightHours = "7200" // seconds; the most that Chromium keeps
)

var headerListPattern = regexp.MustCompile(`^[A-Za-z0-9_-]+(\s*,\s*[A-Za-z0-9_-]+)*$`)

// allowOrigin lets scripts of any origin read the answer. Those of allowed origins may have the browser show its cookie.
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
