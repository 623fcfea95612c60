package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/http/web"
)

// failing starts a server with a single route that returns err.
func failing(t *testing.T, err error) *site {
	return start(t, web.Config{Routes: []web.Route{
		web.Get("/fail", func(*web.Call, none) (web.Reply, error) { return web.Reply{}, err }, web.Public()),
	}})
}

// resting is an error with a time to wait before a retry.
type resting time.Duration

func (r resting) Error() string { return "resting" }

func (r resting) RetryAfter() time.Duration { return time.Duration(r) }

func TestErrorsInBothDialects(t *testing.T) {
	refusal := func(code domain.Code) error { return fmt.Errorf("deciding: %w", domain.Refuse(code, "No.")) }
	for name, c := range map[string]struct {
		err     error
		status  int
		kind    string
		message string
		headers map[string]string
	}{
		"invalid": {refusal(domain.Invalid), 400, "invalid_request_error", "No.",
			map[string]string{"X-Should-Retry": "false"}},
		"rejected": {refusal(domain.Rejected), 409, "conflict_error", "No.",
			map[string]string{"X-Should-Retry": "false"}},
		"denied":           {refusal(domain.Denied), 403, "permission_error", "No.", nil},
		"payment required": {refusal(domain.PaymentRequired), 402, "payment_required_error", "No.", nil},
		"not found":        {refusal(domain.NotFound), 404, "not_found_error", "No.", nil},
		"conflict": {refusal(domain.Conflict), 409, "conflict_error", "No.",
			map[string]string{"X-Should-Retry": "true", "Retry-After": "1"}},
		"unavailable": {refusal(domain.Unavailable), 503, "service_unavailable_error", "No.",
			map[string]string{"Retry-After": "1"}},
		"unavailable for a while": {fmt.Errorf("%w: %w", refusal(domain.Unavailable), resting(4100*time.Millisecond)), 503,
			"service_unavailable_error", "No.", map[string]string{"Retry-After": "5"}},
		"too many": {web.TooManyRequests("Slow down", 7*time.Second), 429, "rate_limit_error", "Slow down",
			map[string]string{"Retry-After": "7", "X-Should-Retry": "true"}},
		"deadline": {context.DeadlineExceeded, 504, "timeout_error", "The request took too long",
			map[string]string{"Retry-After": "1"}},
		"unknown": {errors.New("pq: password of bob@example.com is wrong"), 500, "internal_server_error",
			"Internal Server Error", nil},
		"unknown code": {refusal("new_code"), 500, "internal_server_error", "Internal Server Error", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := failing(t, c.err)
			old := s.ask("GET", "/fail", "")
			require.Equal(t, c.status, old.StatusCode)
			require.Equal(t, "application/json", old.Header.Get("Content-Type"))
			require.Equal(t, map[string]any{"error": c.message}, old.json(t))
			for key, value := range c.headers {
				require.Equal(t, value, old.Header.Get(key))
			}
			recent := s.ask("GET", "/fail", "", "lmnt-version", "1.1")
			require.Equal(t, c.status, recent.StatusCode)
			require.Equal(t, map[string]any{
				"type": "error", "error": map[string]any{"type": c.kind, "message": c.message},
				"request_id": recent.Header.Get("request-id"),
			}, recent.json(t))
		})
	}
}

func TestADeclinedCardInBothDialects(t *testing.T) {
	s := failing(t, &web.Error{Status: 402, Message: "No.", Code: "authentication_required", ClientSecret: "pi_1_secret"})
	require.JSONEq(t, `{"error":"No.","code":"authentication_required","client_secret":"pi_1_secret"}`,
		s.ask("GET", "/fail", "").body)
	require.Equal(t, map[string]any{
		"type": "payment_required_error", "message": "No.", "code": "authentication_required", "client_secret": "pi_1_secret",
	}, s.ask("GET", "/fail", "", "lmnt-version", "1.1").json(t)["error"])
}

func TestUnauthenticatedInBothDialects(t *testing.T) {
	s := start(t, web.Config{Routes: []web.Route{web.Get("/v1/account", ok)}})
	old := s.ask("GET", "/v1/account", "", "x-api-key", "wrong")
	require.Equal(t, 401, old.StatusCode)
	require.JSONEq(t, `{"error":"Invalid API key","message":"Invalid API key","status":401}`, old.body)
	recent := s.ask("GET", "/v1/account", "", "x-api-key", "wrong", "lmnt-version", "1.1")
	require.Equal(t, map[string]any{"type": "authentication_error", "message": "Invalid API key"}, recent.json(t)["error"])
}

func TestInvalidInputInBothDialects(t *testing.T) {
	type in struct {
		Text  string  `body:"text" required:"true"`
		Speed float64 `body:"speed" default:"1" le:"2"`
	}
	s := start(t, web.Config{Routes: []web.Route{
		web.Post("/speech", func(*web.Call, in) (web.Reply, error) { return web.JSON(nil), nil }, web.Public()),
	}})
	const detail = `[{"type":"missing","loc":["body","text"],"msg":"Field required"},
		{"type":"less_than_equal","loc":["body","speed"],"msg":"Input should be less than or equal to 2","ctx":{"le":2}}]`
	old := s.ask("POST", "/speech", `{"speed":3}`)
	require.Equal(t, 422, old.StatusCode)
	require.JSONEq(t, `{"error":"text: Field required","detail":`+detail+`}`, old.body)
	recent := s.ask("POST", "/speech", `{"speed":3}`, "lmnt-version", "1.1")
	require.Equal(t, 422, recent.StatusCode)
	id, _ := json.Marshal(recent.Header.Get("request-id"))
	require.JSONEq(t, `{"type":"error","error":{"type":"invalid_request_error","message":"text: Field required"},"request_id":`+string(id)+`,"detail":`+detail+`}`, recent.body)
	require.JSONEq(t, `{"error":"body: JSON decode error","detail":[{"type":"json_invalid","loc":["body",8],"msg":"JSON decode error","ctx":{"error":"Expecting value"}}]}`,
		s.ask("POST", "/speech", `{"text":`).body)
}

func TestHandlersCanRefuseInputs(t *testing.T) {
	type in struct {
		Text string `query:"text"`
	}
	s := start(t, web.Config{Routes: []web.Route{
		web.Get("/fail", func(call *web.Call, _ in) (web.Reply, error) {
			return web.Reply{}, call.Invalid("text", "nothing to say")
		}, web.Public()),
	}})
	a := s.ask("GET", "/fail", "")
	require.Equal(t, 422, a.StatusCode)
	require.JSONEq(t, `{"error":"text: Value error, nothing to say","detail":[
		{"type":"value_error","loc":["query","text"],"msg":"Value error, nothing to say","ctx":{"error":"nothing to say"}}]}`,
		a.body)
}

func TestMalformedFormIs400(t *testing.T) {
	type in struct {
		Text string `body:"text"`
	}
	s := start(t, web.Config{Routes: []web.Route{
		web.Post("/form", func(*web.Call, in) (web.Reply, error) { return web.JSON(nil), nil }, web.Public(), web.Forms()),
	}})
	a := s.ask("POST", "/form", "--x", "Content-Type", "multipart/form-data")
	require.Equal(t, 400, a.StatusCode)
	require.JSONEq(t, `{"detail":"Missing boundary in multipart.","error":"Missing boundary in multipart.","message":"Missing boundary in multipart."}`, a.body)
}

func TestInternalErrorsAreLoggedAndNotSent(t *testing.T) {
	s := failing(t, errors.New("the pool is exhausted"))
	a := s.ask("GET", "/fail", "")
	require.NotContains(t, a.body, "pool")
	require.Contains(t, s.logs.String(), "the pool is exhausted")
	require.Contains(t, s.logs.String(), a.Header.Get("request-id"))
}

func TestPanicsAreLoggedAndNotSent(t *testing.T) {
	var empty []int
	s := start(t, web.Config{Routes: []web.Route{
		web.Get("/text", func(*web.Call, none) (web.Reply, error) { panic("the text of bob@example.com") }, web.Public()),
		web.Get("/index", func(*web.Call, none) (web.Reply, error) { return web.JSON(empty[len(empty)]), nil }, web.Public()),
		web.Get("/encode", func(*web.Call, none) (web.Reply, error) { return web.JSON(func() {}), nil }, web.Public()),
	}})
	for _, path := range []string{"/text", "/index", "/encode"} {
		a := s.ask("GET", path, "")
		require.Equal(t, 500, a.StatusCode)
		require.JSONEq(t, `{"error":"Internal Server Error"}`, a.body)
	}
	require.NotContains(t, s.logs.String(), "bob@example.com", "a panic's value may contain a client's text")
	require.Contains(t, s.logs.String(), "index out of range")
	require.Contains(t, s.logs.String(), "errors_test.go", "the stack is logged")
}

func TestUnknownRoutesAndMethods(t *testing.T) {
	s := start(t, web.Config{Routes: []web.Route{
		web.Get("/v1/ai/voice/{id}", ok, web.Public()), web.Put("/v1/ai/voice/{id}", ok, web.Public()),
	}})
	a := s.ask("GET", "/nowhere<script>", "")
	require.Equal(t, 404, a.StatusCode)
	require.JSONEq(t, `{"detail":"Not Found","error":"Not Found","message":"Not Found"}`, a.body)
	a = s.ask("GET", "/nowhere", "", "lmnt-version", "1.1")
	require.Equal(t, "Not Found", a.json(t)["detail"])
	require.Equal(t, map[string]any{"type": "not_found_error", "message": "Not Found"}, a.json(t)["error"])
	for _, method := range []string{"POST", "DELETE", "PATCH", "TRACE", "BREW"} {
		a = s.ask(method, "/v1/ai/voice/x", "")
		require.Equal(t, 405, a.StatusCode, method)
		require.JSONEq(t, `{"detail":"Method Not Allowed","error":"Method Not Allowed","message":"Method Not Allowed"}`,
			a.body)
		require.Equal(t, "GET, HEAD, PUT, OPTIONS", a.Header.Get("Allow"))
		require.Regexp(t, requestID, a.Header.Get("request-id"))
	}
	require.Equal(t, 404, s.ask("BREW", "/nowhere", "").StatusCode)
}

var requestID = regexp.MustCompile(`^req_[1-9A-HJ-NP-Za-km-z]{22}$`)

func TestEveryAnswerHasItsOwnRequestID(t *testing.T) {
	s := start(t, web.Config{Routes: []web.Route{web.Get("/ok", ok, web.Public())}})
	seen := map[string]bool{}
	for _, path := range []string{"/ok", "/nowhere", "/ok"} {
		a := s.ask("GET", path, "", "x-request-id", "mine-1")
		id := a.Header.Get("request-id")
		require.Regexp(t, requestID, id)
		require.Equal(t, id, a.Header.Get("x-request-id"), "the client's own id is not echoed")
		require.False(t, seen[id])
		seen[id] = true
	}
	require.Contains(t, s.logs.String(), `"trace":"mine-1"`)
	s.ask("GET", "/ok", "", "x-request-id", `bad id" "level":"ERROR`)
	require.NotContains(t, s.logs.String(), "bad id")
}

func TestDialects(t *testing.T) {
	for version, want := range map[string]web.Dialect{
		"": web.V10, "1.0": web.V10, "1": web.V10, "banana": web.V10, "0.9": web.V10, "-1": web.V10, "1.": web.V10,
		".":   web.V10,
		"1.1": web.V11, " 1.1 ": web.V11, "v1.2": web.V12, "1.10": web.V12, "2": web.V12, "9.9": web.V12,
		"2025-09-25": web.V12, "1.1.3": web.V11,
	} {
		require.Equal(t, want, web.ParseDialect(version), version)
	}
}
