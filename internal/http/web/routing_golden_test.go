package web_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web"
)

var updateRouting = flag.Bool("update-routing", false, "write testdata/routing.golden")

const routingGolden = "testdata/routing.golden"

var (
	routedMethods = []string{
		"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PURGE", "get", "QUERY",
	}

	// routedTargets are paths, and request targets that proxies and scanners send.
	routedTargets = []string{
		"/", "/v1/account", "/v1/account/", "/V1/account", "//v1/account", "/v1//account", "/v1/./account",
		"/v1/x/../account", "/v1/%61ccount",
		"/v1/account?x=/y", "/v1/account#f", "/v1/account?a#b", "/v1/account#b?a", "http://other.example/v1/account",
		"http://other.example", "*", "v1/account",
		"/v1/ai/voice/list", "/v1/ai/voice/LIST", "/v1/ai/voice/", "/v1/ai/voice/a", "/v1/ai/voice/a%2Fb",
		"/v1/ai/voice/a.b-c~d_e", "/v1/ai/voice/a/b",
		"/v1/ai/voice/%ff", "/v1/ai/voice/%zz", "/v1/ai/voice/\xc3\xa4", "/v1/ai/voice/a;b", "/v1/ai/voice/a:b",
		"/v1/ai/voice/precheck", "/v1/ai/voice/a/preview",
		"/v1/ai/voice//preview", "/v1/ai/voice/a/preview/", "/v1/ai/voice/a/previewx", "/v1/ai/voice/a/preview/invalidate",
		"/v1/ai/voice/list/preview",
		"/speech/beta", "/speech/beta/", "/speech/beta//", "/speech/beta/voices", "/speech/beta/synthesize",
		"/speech/beta/a/b/voices", "/speech/beta/voices/",
		"/auth/oauth/validate", "/auth/oauth/google", "/spend", "/nowhere", "/a://b/v1/account", "/:id", "/+",
	}
)

// TestRoutingIsAsRecorded compares the response to every method and request target with the recorded one.
func TestRoutingIsAsRecorded(t *testing.T) {
	rows := []web.Route{web.Get("/spend", ok, web.Public(), web.Appends()), web.Get("/private", ok)}
	for _, row := range table {
		rows = append(rows, named(row))
	}
	s := start(t, web.Config{Routes: rows})
	var recorded []string
	for _, target := range routedTargets {
		byResponse := map[string][]string{}
		for _, method := range routedMethods {
			response := s.record(t, method, target, "")
			byResponse[response] = append(byResponse[response], method)
		}
		for _, response := range slices.Sorted(maps.Keys(byResponse)) {
			recorded = append(recorded, fmt.Sprintf("%s %q -> %s", strings.Join(byResponse[response], ","), target, response))
		}
	}
	for _, target := range []string{"/v1/account", "/spend", "/nowhere"} {
		for _, c := range []struct{ method, headers string }{
			{"OPTIONS", "Origin: https://page.example\r\nAccess-Control-Request-Method: PUT\r\n"},
			{"BREW", "Origin: https://page.example\r\nlmnt-version: 1.1\r\n"},
			{"POST", "Content-Length: 2\r\n"}, {"GET", "Host: [::1\r\n"},
		} {
			recorded = append(recorded, fmt.Sprintf("%s %q %q -> %s", c.method, target, c.headers,
				s.record(t, c.method, target, c.headers)))
		}
	}
	if *updateRouting {
		require.NoError(t, os.WriteFile(routingGolden, []byte(strings.Join(recorded, "\n")), 0o644))
	}
	want, err := os.ReadFile(routingGolden)
	require.NoError(t, err)
	require.Equal(t, strings.Split(string(want), "\n"), recorded)
}

// record returns the response to a request on one line, without fields that differ between requests.
func (s *site) record(t *testing.T, method, target, headers string) string {
	t.Helper()
	if !strings.Contains(headers, "Host:") {
		headers += "Host: recital.example\r\n"
	}
	body := ""
	if strings.Contains(headers, "Content-Length: 2") {
		body = "{}"
	}
	response, text := s.exchange(t, method, method+" "+target+" HTTP/1.1\r\n"+headers+"Connection: close\r\n\r\n"+body)
	if id := response.Header.Get("Request-Id"); id != "" {
		text = strings.ReplaceAll(text, id, "<id>")
	}
	for _, name := range []string{"Date", "Request-Id", "X-Request-Id"} {
		response.Header.Del(name)
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(response.Header)) {
		lines = append(lines, name+": "+strings.Join(response.Header[name], " | "))
	}
	return fmt.Sprintf("%d %s %q", response.StatusCode, strings.Join(lines, "; "), text)
}
