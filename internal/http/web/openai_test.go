package web_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/http/web"
)

func TestErrorsInOpenAIsDialect(t *testing.T) {
	refusal := func(code domain.Code) error { return domain.Refuse(code, "No.") }
	for name, c := range map[string]struct {
		err        error
		status     int
		body       string // the error
		retryAfter string
		retry      string
	}{
		"payment required": {refusal(domain.PaymentRequired), 429,
			`{"message":"No.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}`, "", "false"},
		"not found": {refusal(domain.NotFound), 404,
			`{"message":"No.","type":"invalid_request_error","param":null,"code":null}`, "", ""},
		"too many": {web.TooManyRequests("Slow down", 7*time.Second), 429,
			`{"message":"Slow down","type":"rate_limit_error","param":null,"code":"rate_limit_exceeded"}`, "7", "true"},
		"unavailable": {refusal(domain.Unavailable), 503,
			`{"message":"No.","type":"server_error","param":null,"code":null}`, "1", ""},
		"unknown": {errors.New("pq: password is wrong"), 500,
			`{"message":"Internal Server Error","type":"server_error","param":null,"code":null}`, "", ""},
		"a 422 without items": {&web.Error{Status: 422, Message: "No"}, 400,
			`{"message":"No","type":"invalid_request_error","param":null,"code":"invalid_value"}`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, web.Config{Routes: []web.Route{
				web.Get("/fail", func(*web.Call, none) (web.Reply, error) { return web.Reply{}, c.err }, web.OpenAIRoute()),
			}})
			for _, version := range []string{"", "1.1"} { // it matters on other routes
				got := s.ask("GET", "/fail", "", "authorization", "Bearer "+goodKey, "lmnt-version", version)
				require.Equal(t, c.status, got.StatusCode)
				require.JSONEq(t, `{"error":`+c.body+`}`, got.body)
				require.Equal(t, c.retryAfter, got.Header.Get("Retry-After"))
				require.Equal(t, c.retry, got.Header.Get("x-should-retry"))
			}
		})
	}
}

func TestWrongInputsInOpenAIsDialect(t *testing.T) {
	type in struct {
		Input string  `body:"input" required:"true" minlen:"1" maxlen:"5"`
		Speed float64 `body:"speed" default:"1" le:"4"`
	}
	s := start(t, web.Config{Routes: []web.Route{
		web.Post("/speech", func(*web.Call, in) (web.Reply, error) { return web.JSON(nil), nil }, web.OpenAIRoute(),
			web.MaxBody(100)),
	}})
	for body, want := range map[string]struct {
		status int
		param  any
		code   any
	}{
		`{}`:                         {400, "input", "missing_required_parameter"},
		`{"input":""}`:               {400, "input", "string_below_min_length"},
		`{"input":"longer"}`:         {400, "input", "string_above_max_length"},
		`{"input":1}`:                {400, "input", "invalid_type"},
		`{"input":"a","speed":"b"}`:  {400, "speed", "invalid_type"},
		`{"input":"a","speed":5}`:    {400, "speed", "invalid_value"},
		`{"input":`:                  {400, nil, "invalid_value"},
		`[]`:                         {400, nil, "invalid_value"},
		string(make([]byte, 1<<10)):  {413, nil, nil},
		`{"input":"a","other":true}`: {200, nil, nil},
	} {
		got := s.ask("POST", "/speech", body, "authorization", "Bearer "+goodKey)
		require.Equal(t, want.status, got.StatusCode, body)
		if want.status == 200 {
			continue
		}
		fields := got.json(t)["error"].(map[string]any)
		require.Equal(t, want.param, fields["param"], body)
		require.Equal(t, want.code, fields["code"], body)
		require.Equal(t, "invalid_request_error", fields["type"], body)
		require.NotEmpty(t, fields["message"], body)
	}
}

func TestKeysAsBearerTokens(t *testing.T) {
	who := func(c *web.Call, _ none) (web.Reply, error) { return web.JSON(c.Principal.Account), nil }
	s := start(t, web.Config{Routes: []web.Route{web.Get("/openai", who, web.OpenAIRoute()), web.Get("/ours", who)}})
	for name, c := range map[string]struct {
		path, authorization, key string
		status                   int
	}{
		"a bearer":               {"/openai", "Bearer " + goodKey, "", 200},
		"in lower case":          {"/openai", "bearer  " + goodKey, "", 200},
		"a key in our header":    {"/openai", "", goodKey, 200},
		"the same key in both":   {"/openai", "Bearer " + goodKey, goodKey, 200},
		"two keys":               {"/openai", "Bearer " + goodKey, "other", 400},
		"a wrong bearer":         {"/openai", "Bearer wrong", "", 401},
		"an empty bearer":        {"/openai", "Bearer ", "", 401},
		"another scheme":         {"/openai", "Basic " + goodKey, "", 401},
		"no key":                 {"/openai", "", "", 401},
		"while the log is down":  {"/openai", "Bearer key-while-down", "", 503},
		"a bearer on our routes": {"/ours", "Bearer " + goodKey, "", 401},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.ask("GET", c.path, "", "authorization", c.authorization, "x-api-key", c.key)
			require.Equal(t, c.status, got.StatusCode, got.body)
			if c.status == 401 && c.path == "/openai" {
				require.Equal(t, "invalid_api_key", got.json(t)["error"].(map[string]any)["code"])
			}
		})
	}
	require.NotContains(t, s.logs.String(), goodKey)
}
