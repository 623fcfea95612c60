package main_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBadInputIsAnsweredAsDocumentedAndIsFree(t *testing.T) {
	t.Parallel()
	s := share(t)
	c := s.openAccount("free")
	const (
		unicode  = "Input should be a valid string, unable to parse raw data as a unicode string"
		formats  = "Input should be 'aac', 'mp3', 'raw', 'wav', 'ulaw', 'webm', 'pcm_s16le' or 'pcm_f32le'"
		nul      = "Value error, a text must not contain the character NUL (U+0000)"
		noObject = "Input should be a valid dictionary or object to extract fields from"
	)
	for name, bad := range map[string]struct {
		body, contentType    string
		kind, field, message string
	}{
		"an empty text": {`{"text":"","voice":"leah"}`, "", "string_too_short", "text",
			"String should have at least 1 character"},
		"no text": {`{"voice":"leah"}`, "", "missing", "text", "Field required"},
		"5,001 characters": {`{"text":"` + prose(5001) + `","voice":"leah"}`, "", "string_too_long", "text",
			"String should have at most 5000 characters"},
		"speed 3": {`{"text":"a","voice":"leah","speed":3}`, "", "less_than_equal", "speed",
			"Input should be less than or equal to 2"},
		"a sample rate of 11025": {`{"text":"a","voice":"leah","sample_rate":11025}`, "", "enum", "sample_rate",
			"Input should be 8000, 16000 or 24000"},
		"the format ogg":       {`{"text":"a","voice":"leah","format":"ogg"}`, "", "literal_error", "format", formats},
		"truncated JSON":       {`{"text":"a","voi`, "", "json_invalid", "body", "JSON decode error"},
		"no body":              {``, "", "missing", "body", "Field required"},
		"a wrong content type": {"hello", "application/octet-stream", "model_attributes_type", "body", noObject},
		"a list":               {`["a"]`, "", "model_attributes_type", "body", noObject},
		"an escaped NUL":       {`{"text":"a\u0000b","voice":"leah"}`, "", "value_error", "text", nul},
		"a NUL byte": {"{\"text\":\"a\x00b\",\"voice\":\"leah\"}", "", "json_invalid", "body",
			"JSON decode error"},
		"a lone high surrogate":    {`{"text":"a\ud800b","voice":"leah"}`, "", "string_unicode", "text", unicode},
		"a lone low surrogate":     {`{"text":"a\udc00","voice":"leah"}`, "", "string_unicode", "text", unicode},
		"bytes that are not UTF-8": {"{\"text\":\"a\xff\",\"voice\":\"leah\"}", "", "string_unicode", "text", unicode},
	} {
		for _, route := range []string{bytesRoute, detailedRoute} {
			t.Run(name+" for "+route, func(t *testing.T) {
				contentType := bad.contentType
				if contentType == "" {
					contentType = "application/json"
				}
				send := func(version string) reply {
					return do(t, c.request(http.MethodPost, route, strings.NewReader(bad.body), "Content-Type", contentType,
						"lmnt-version", version))
				}
				requireInvalid(t, send("1.0"), send("1.1"), bad.kind, bad.field, bad.message)
			})
		}
	}
	for _, route := range []string{bytesRoute, detailedRoute} {
		requireNoVoice(t, c, route)
		requireTooLarge(t, c, route)
	}

	for _, address := range []string{
		"GET /v1/account/clip/%00", "DELETE /v1/account/clip/%00", "GET /v1/account/clip/a%00b/audio?sig=x",
		"GET /v1/account/clips?language=%00",
		"GET /v1/ai/voice/%ff", "GET /v1/ai/voice/%00/preview", "GET /v1/ai/speech/timestamps/%00?sig=x",
		"DELETE /v1/account/api_key/%ed%a0%80",
	} {
		method, path, _ := strings.Cut(address, " ")
		got := do(t, c.request(method, path, nil))
		require.Equal(t, http.StatusUnprocessableEntity, got.status, "%s: %s", address, got.body)
		message := unicode
		if strings.Contains(path, "%00") {
			message = nul
		}
		require.Contains(t, string(got.body), message, address)
	}

	long := "/v1/ai/voice/" + strings.Repeat("a", 2000)
	for _, address := range []string{"GET " + long, "PUT " + long, "DELETE " + long, "GET " + long + "/preview?sig=" +
		long, "POST " + long + "/preview/invalidate"} {
		method, path, _ := strings.Cut(address, " ")
		got := do(t, c.request(method, path, strings.NewReader("{}")))
		require.Equal(t, http.StatusNotFound, got.status, "%s: %s", address, got.body)
	}
	for _, address := range []string{"GET /nowhere", "PATCH /v1/account", "POST /v1/account/set_email_prefs"} {
		method, path, _ := strings.Cut(address, " ")
		got := do(t, c.request(method, path, strings.NewReader("--x"), "Content-Type", "multipart/form-data"))
		var told struct{ Detail, Error, Message string }
		got.decode(t, &told)
		require.NotEmpty(t, told.Detail, address)
		require.Equal(t, told.Detail, told.Error, address)
		require.Equal(t, told.Detail, told.Message, address)
	}

	// and nothing was billed or reserved, and the server still serves
	require.Zero(t, c.usage(t))
	for _, period := range s.readLog().periods {
		require.NotEqual(t, c.id, period.Terms.Account)
	}
	requireCounts(t, c)
}

// requireInvalid checks the documented 422 in both dialects.
func requireInvalid(t *testing.T, old, recent reply, kind, field, message string) {
	t.Helper()
	type problem struct {
		Kind     string `json:"type"`
		Location []any  `json:"loc"`
		Message  string `json:"msg"`
	}
	var flat struct {
		Detail []problem `json:"detail"`
		Error  string    `json:"error"`
	}
	require.Equal(t, 422, old.status, old.text())
	require.Equal(t, "application/json", old.header.Get("Content-Type"))
	old.decode(t, &flat)
	require.NotEmpty(t, flat.Detail)
	first := flat.Detail[0]
	require.Equal(t, kind, first.Kind)
	require.Equal(t, message, first.Message)
	require.Equal(t, "body", first.Location[0])
	if field != "body" {
		require.Equal(t, []any{"body", field}, first.Location)
	}
	require.Equal(t, field+": "+message, flat.Error)

	var envelope struct {
		Detail []problem         `json:"detail"`
		Type   string            `json:"type"`
		Error  map[string]string `json:"error"`
		ID     string            `json:"request_id"`
	}
	require.Equal(t, 422, recent.status, recent.text())
	recent.decode(t, &envelope)
	require.Equal(t, flat.Detail, envelope.Detail)
	require.Equal(t, "error", envelope.Type)
	require.Equal(t, map[string]string{"type": "invalid_request_error", "message": field + ": " + message}, envelope.Error)
	require.Equal(t, recent.header.Get("request-id"), envelope.ID)
}

func requireNoVoice(t *testing.T, c customer, route string) {
	t.Helper()
	unknown := order{"text": "a", "voice": "nobody"}
	old := c.post(t, route, unknown)
	require.Equal(t, 404, old.status)
	require.JSONEq(t, `{"error":"There is no such voice"}`, old.text())
	recent := c.post(t, route, unknown, "lmnt-version", "1.1")
	require.Equal(t, 404, recent.status)
	require.JSONEq(t, `{"type":"error","error":{"type":"not_found_error","message":"There is no such voice"},"request_id":"`+
		recent.header.Get("request-id")+`"}`, recent.text())
}

// requireTooLarge sends 10 MiB of text, with and without a Content-Length.
func requireTooLarge(t *testing.T, c customer, route string) {
	t.Helper()
	body := []byte(`{"voice":"leah","text":"` + strings.Repeat("a", 10<<20) + `"}`)
	for name, reader := range map[string]io.Reader{
		"of a known length":    bytes.NewReader(body),
		"of an unknown length": io.MultiReader(bytes.NewReader(body)),
	} {
		request := c.request(http.MethodPost, route, reader)
		answer := do(t, request)
		require.Equal(t, 413, answer.status, name)
		require.JSONEq(t, `{"error":"The request's body is too large"}`, answer.text())
	}
}
