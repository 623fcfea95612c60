package web

import (
	"regexp"
	"strings"

	"github.com/valyala/fasthttp"
)

// exposedHeaders are what scripts in browsers may read beside the headers that every script may read.
var exposedHeaders = strings.Join([]string{
	headerRequestID, headerRequestIDToo, "retry-after", "x-should-retry", headerPosition, headerStale,
	"x-generation-id", "x-model-version", "x-timestamps-url", "x-character-count",
	"x-characters-limit", "x-characters-used", "x-characters-remaining", "x-concurrency-limit", "x-concurrency-current",
	"x-voice-id", "x-clip-id", "x-seed", "x-warning",
}, ", ")

const (
	allMethods     = "GET, HEAD, POST, PUT, DELETE, OPTIONS"
	preflightHours = "7200" // seconds; the most that Chromium keeps
)

var headerListPattern = regexp.MustCompile(`^[A-Za-z0-9_-]+(\s*,\s*[A-Za-z0-9_-]+)*$`)

// allowOrigin lets scripts of any origin read the answer. No credentials are allowed, so cookies play no part.
func allowOrigin(http *fasthttp.RequestCtx) {
	header := &http.Response.Header
	header.Set("Access-Control-Allow-Origin", "*")
	if len(http.Request.Header.Peek("Origin")) > 0 {
		header.Set("Access-Control-Expose-Headers", exposedHeaders)
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
	header.Set("Vary", "Access-Control-Request-Headers")
	http.SetStatusCode(fasthttp.StatusNoContent)
}
