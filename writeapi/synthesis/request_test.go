package synthesis

import (
	"bytes"
	"context"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/enginetest"
	"github.com/recital-tts/recital/writeapi/synthesis/request"
)

func TestMain(m *testing.M) { webtest.Main(m) }

// understood is a parsed request, before its synthesis.
type understood struct {
	Text, Voice, Language, Format string
	SampleRate                    int
	Speed                         float64
	Times                         bool
}

func understand(_ *web.Call, in request.Speech) (web.Reply, error) {
	order := in.Synthesis()
	return web.JSON(understood{
		Text: order.Text, Voice: order.Voice, Language: order.Language,
		Format: string(order.Audio.Format), SampleRate: order.Audio.SampleRate, Speed: order.Speed, Times: in.WantsTimes(),
	}), nil
}

type anyKey struct{}

func (anyKey) APIKey(context.Context, string) (web.Principal, error) {
	return web.Principal{Account: "a1"}, nil
}

// noStudio returns the routes without an engine.
func noStudio() *API {
	return &API{Synthesiser: &synthesis.Synthesiser{Voices: &enginetest.SystemVoices{}}, VoiceNames: names{}}
}

// serve runs the real routes, which here refuse before any speech, and a route that returns the request as it was
// bound.
func serve(t *testing.T) string {
	t.Helper()
	routes := append(noStudio().Routes(), web.Post("/understand", understand, web.As(request.Post()), web.Forms(),
		web.MaxBody(maxBody), web.Returns[understood]()))
	return webtest.Serve(t, web.Config{Routes: routes, Authenticator: anyKey{}})
}

func post(t *testing.T, url, contentType, body string) (int, []byte) {
	t.Helper()
	response, got := webtest.Send(t, http.MethodPost, url, body, "x-api-key", "any", "Content-Type", contentType)
	return response.StatusCode, []byte(got)
}

var defaults = understood{Text: "hi", Voice: "leah", Language: "auto", Format: "mp3", SampleRate: 24000, Speed: 1}

// with returns the defaults with the changes that change makes.
func with(change func(*understood)) understood {
	u := defaults
	change(&u)
	return u
}

func TestWhatIsUnderstood(t *testing.T) {
	url := serve(t) + "/understand"
	for name, c := range map[string]struct {
		fields string // in addition to text and voice
		want   understood
	}{
		"the defaults": {``, defaults},
		"all of it": {`,"language":"de","format":"wav","sample_rate":8000,"speed":0.25,"return_durations":true`,
			with(func(u *understood) {
				u.Language, u.Format, u.SampleRate, u.Speed, u.Times = "de", "wav", 8000, 0.25, true
			})},
		"response_format": {`,"response_format":"wav"`, with(func(u *understood) { u.Format = "wav" })},
		"format first":    {`,"response_format":"wav","format":"aac"`, with(func(u *understood) { u.Format = "aac" })},
		"mulaw":           {`,"format":"mulaw"`, with(func(u *understood) { u.Format, u.SampleRate = "ulaw", 8000 })},
		"mulaw as an alias": {`,"response_format":"mulaw","sample_rate":16000`,
			with(func(u *understood) { u.Format, u.SampleRate = "ulaw", 16000 })},
		"durations":         {`,"durations":true`, with(func(u *understood) { u.Times = true })},
		"return_timestamps": {`,"return_timestamps":true`, with(func(u *understood) { u.Times = true })},
		"python's True":     {`,"durations":"True"`, with(func(u *understood) { u.Times = true })},
		"numbers as texts": {`,"speed":"1.5","sample_rate":"16000","seed":"7","temperature":"0.5"`,
			with(func(u *understood) { u.Speed, u.SampleRate = 1.5, 16000 })},
		"a language with region": {`,"language":"pt_BR"`, with(func(u *understood) { u.Language = "pt-br" })},
		"English":                {`,"language":"EN"`, with(func(u *understood) { u.Language = "en-us" })},
		"keys that are unknown":  {`,"return_seed":true,"foo":{"bar":[1]},"model":"blizzard-2.1"`, defaults},
		"nulls": {`,"seed":null,"sample_rate":null,"model":null,"debug":null,"return_durations":null`,
			defaults},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := post(t, url, "application/json", `{"text":"hi","voice":"leah"`+c.fields+`}`)
			require.Equal(t, http.StatusOK, status, "%s", body)
			var got understood
			require.NoError(t, json.Unmarshal(body, &got))
			require.Equal(t, c.want, got)
		})
	}
}

func TestFormsAreUnderstoodLikeJSON(t *testing.T) {
	address := serve(t) + "/understand"
	fields := map[string]string{
		"text": "“Grüße” & 1+1", "voice": "zeke", "format": "mulaw", "speed": "0.5", "sample_rate": "16000",
		"return_durations": "True", "seed": "",
	}
	want := understood{
		Text: "“Grüße” & 1+1", Voice: "zeke", Language: "auto", Format: "ulaw", SampleRate: 16000, Speed: 0.5, Times: true,
	}
	values := url.Values{}
	var multi bytes.Buffer
	writer := multipart.NewWriter(&multi)
	for name, value := range fields {
		values.Set(name, value)
		require.NoError(t, writer.WriteField(name, value))
	}
	require.NoError(t, writer.Close())
	for contentType, form := range map[string]string{
		"application/x-www-form-urlencoded": values.Encode(),
		writer.FormDataContentType():        multi.String(),
	} {
		status, body := post(t, address, contentType, form)
		require.Equal(t, http.StatusOK, status, "%s", body)
		var got understood
		require.NoError(t, json.Unmarshal(body, &got))
		require.Equal(t, want, got, contentType)
	}
}

// Every speech route refuses invalid requests before it reserves or speaks anything.
func TestWhatIsRefused(t *testing.T) {
	address := serve(t)
	long := strings.Repeat("é", 5001)
	for name, c := range map[string]struct {
		body   string
		status int
		loc    string // of the only item of a 422
		kind   string
	}{
		"no text":             {`{"voice":"leah"}`, 422, `["body","text"]`, "missing"},
		"an empty text":       {`{"text":"","voice":"leah"}`, 422, `["body","text"]`, "string_too_short"},
		"a long text":         {`{"text":"` + long + `","voice":"leah"}`, 422, `["body","text"]`, "string_too_long"},
		"a text with NUL":     {`{"text":"a\u0000b","voice":"leah"}`, 422, `["body","text"]`, "value_error"},
		"half a character":    {`{"text":"a\ud83d","voice":"leah"}`, 422, `["body","text"]`, "string_unicode"},
		"no voice":            {`{"text":"hi"}`, 422, `["body","voice"]`, "missing"},
		"an unknown voice":    {`{"text":"hi","voice":"nobody"}`, 404, "", ""},
		"an empty voice":      {`{"text":"hi","voice":""}`, 404, "", ""},
		"a long voice":        {`{"text":"hi","voice":"` + strings.Repeat("a", 5000) + `"}`, 404, "", ""},
		"a null for a voice":  {`{"text":"hi","voice":null}`, 422, `["body","voice"]`, "string_type"},
		"a voice as a path":   {`{"text":"hi","voice":"../f2"}`, 404, "", ""},
		"an engine's variant": {`{"text":"hi","voice":"f2"}`, 404, "", ""},
		"an unknown language": {`{"text":"hi","voice":"leah","language":"tlh"}`, 422, `["body","language"]`, "value_error"},
		"both are unknown": {`{"text":"hi","voice":"nobody","language":"tlh"}`, 422, `["body","language"]`,
			"value_error"},
		"a long language": {`{"text":"hi","voice":"leah","language":"` + strings.Repeat("a", 36) + `"}`, 422,
			`["body","language"]`, "value_error"},
		"an unknown format":    {`{"text":"hi","voice":"leah","format":"ogg"}`, 422, `["body","format"]`, "literal_error"},
		"an unknown rate":      {`{"text":"hi","voice":"leah","sample_rate":11025}`, 422, `["body","sample_rate"]`, "enum"},
		"too fast":             {`{"text":"hi","voice":"leah","speed":3}`, 422, `["body","speed"]`, "less_than_equal"},
		"too slow":             {`{"text":"hi","voice":"leah","speed":0.24}`, 422, `["body","speed"]`, "greater_than_equal"},
		"a speed that is none": {`{"text":"hi","voice":"leah","speed":"NaN"}`, 422, `["body","speed"]`, ""},
		"too hot": {`{"text":"hi","voice":"leah","temperature":5.1}`, 422, `["body","temperature"]`,
			"less_than_equal"},
		"top_p":            {`{"text":"hi","voice":"leah","top_p":1.01}`, 422, `["body","top_p"]`, "less_than_equal"},
		"top_k":            {`{"text":"hi","voice":"leah","top_k":-1}`, 422, `["body","top_k"]`, "greater_than_equal"},
		"too long":         {`{"text":"hi","voice":"leah","length":301}`, 422, `["body","length"]`, "less_than_equal"},
		"an unknown model": {`{"text":"hi","voice":"leah","model":"gale"}`, 422, `["body","model"]`, "literal_error"},
		"no boolean":       {`{"text":"hi","voice":"leah","debug":"maybe"}`, 422, `["body","debug"]`, "bool_parsing"},
		"truncated JSON":   {`{"text":"hi","voice"`, 422, "", "json_invalid"},
		"a list":           {`[]`, 422, `["body"]`, ""},
		"much too large":   {`{"text":"` + strings.Repeat("a", maxBody) + `"}`, 413, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"/v1/ai/speech", "/v1/ai/speech/bytes"} {
				status, body := post(t, address+path, "application/json", c.body)
				require.Equal(t, c.status, status, "%s", body)
				require.NotContains(t, string(body), long[:20], "texts are not sent back")
				if c.status != http.StatusUnprocessableEntity {
					continue
				}
				var refusal struct {
					Detail []struct {
						Loc  json.RawMessage
						Type string
					}
				}
				require.NoError(t, json.Unmarshal(body, &refusal))
				require.Len(t, refusal.Detail, 1, "%s", body)
				if c.loc != "" {
					require.JSONEq(t, c.loc, string(refusal.Detail[0].Loc))
				}
				require.Contains(t, refusal.Detail[0].Type, c.kind)
			}
		})
	}
}

func TestAllErrorsAreToldAtOnce(t *testing.T) {
	_, body := post(t, serve(t)+"/v1/ai/speech", "application/json", `{"voice":"leah","speed":3,"format":"ogg","top_p":2}`)
	var refusal struct {
		Detail []struct{ Loc []string }
	}
	require.NoError(t, json.Unmarshal(body, &refusal))
	var fields []string
	for _, item := range refusal.Detail {
		fields = append(fields, item.Loc[1])
	}
	require.Equal(t, []string{"text", "format", "speed", "top_p"}, fields)
}

// unready is a set of voices that cannot speak yet.
type unready struct{ err error }

func (u unready) Speaking(context.Context, string, string) (speech.Voice, error) {
	return speech.Voice{}, u.err
}

// In each dialect the reply tells clients whether to retry: published clients retry a 409 by default.
func TestAVoiceThatCannotSpeak(t *testing.T) {
	for name, c := range map[string]struct {
		err        error
		retryAfter string
		retry      string
	}{
		"not ready":       {domain.Refuse(domain.Conflict, "The voice is not ready yet"), "1", "true"},
		"broken for good": {domain.Refuse(domain.Rejected, "The voice is broken"), "", "false"},
	} {
		t.Run(name, func(t *testing.T) {
			api := &API{Synthesiser: &synthesis.Synthesiser{Voices: unready{c.err}}}
			address := webtest.Serve(t, web.Config{Routes: api.Routes(), Authenticator: anyKey{}})
			for _, way := range []struct{ method, path, body string }{
				{http.MethodPost, "/v1/ai/speech", `{"text":"hi","voice":"mine"}`},
				{http.MethodPost, "/v1/ai/speech/bytes", `{"text":"hi","voice":"mine"}`},
				{http.MethodPost, "/speech/beta/synthesize", `{"text":"hi","voice":"mine"}`},
				{http.MethodGet, "/v1/ai/speech?text=hi&voice=mine", ""},
			} {
				for version, want := range map[string]string{"1.0": `"error":"` + c.err.Error(), "1.1": `"message":"` +
					c.err.Error()} {
					response, body := webtest.Send(t, way.method, address+way.path, way.body, "x-api-key", "any",
						"Content-Type", "application/json", "lmnt-version", version)
					require.Equal(t, http.StatusConflict, response.StatusCode, body)
					require.Contains(t, body, want, way.path)
					require.Equal(t, c.retryAfter, response.Header.Get("Retry-After"))
					require.Equal(t, c.retry, response.Header.Get("x-should-retry"))
				}
			}
		})
	}
}
