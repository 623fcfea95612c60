package synthesis

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	"github.com/recital-tts/recital/writeapi/synthesis/request"
)

func serveQueries(t *testing.T) string {
	t.Helper()
	routes := append(noStudio().Routes(), web.Get("/understand", understand, web.As(request.Get()),
		web.Returns[understood]()))
	return webtest.Serve(t, web.Config{Routes: routes, Authenticator: anyKey{}})
}

func ask(t *testing.T, method, address string) (int, string) {
	t.Helper()
	response, got := webtest.Send(t, method, address, "", "x-api-key", "any")
	return response.StatusCode, got
}

func TestAnAddressSaysTheSameAsABody(t *testing.T) {
	server := serveQueries(t)
	status, got := ask(t, http.MethodGet,
		server+"/understand?text=hi&voice=leah&format=wav&sample_rate=8000&speed=0.5&return_timestamps=true&language=de")
	require.Equal(t, 200, status, got)
	require.JSONEq(t, `{"Text":"hi","Voice":"leah","Language":"de","Format":"wav","SampleRate":8000,"Speed":0.5,"Times":true}`, got)
	status, got = ask(t, http.MethodGet, server+"/understand?text=hi&voice=leah&format=mulaw")
	require.Equal(t, 200, status, got)
	require.Contains(t, got, `"Format":"ulaw"`)
	for _, bad := range []string{"", "text=hi", "voice=leah", "text=&voice=leah", "text=" + strings.Repeat("a", 5001) +
		"&voice=leah",
		"text=hi&voice=leah&speed=3", "text=hi&voice=leah&sample_rate=44100", "text=hi&voice=leah&format=flac",
		"text=hi&voice=leah&length=0",
		"text=hi&voice=leah&temperature=0", "text=hi&voice=leah&top_p=2", "text=hi&voice=leah&debug=perhaps"} {
		status, got := ask(t, http.MethodGet, server+"/v1/ai/speech?"+bad)
		require.Equal(t, 422, status, "%s: %s", bad, got)
	}
	status, got = ask(t, http.MethodGet, server+"/v1/ai/speech?text=hi&voice=leah&speed=3&language=xx")
	require.Equal(t, 422, status)
	require.Contains(t, got, `["query","language"]`)
	require.Contains(t, got, `["query","speed"]`, "all that is wrong is listed")
	status, _ = ask(t, http.MethodGet, server+"/v1/ai/speech?text=hi&voice=nobody")
	require.Equal(t, 404, status)
}

func TestClientsOfVersion0(t *testing.T) {
	server := serve(t)
	for body, want := range map[string]int{
		url.Values{"text": {"hi"}}.Encode():                                         422,
		url.Values{"text": {"hi"}, "voice": {"nobody"}}.Encode():                    404,
		url.Values{"text": {"hi"}, "voice": {"leah"}, "format": {"flac"}}.Encode():  422,
		url.Values{"text": {"hi"}, "voice": {"leah"}, "speed": {"fast"}}.Encode():   422,
		url.Values{"text": {"hi"}, "voice": {"leah"}, "length": {"0.01"}}.Encode():  422,
		url.Values{"text": {strings.Repeat("a", 5001)}, "voice": {"leah"}}.Encode(): 422,
	} {
		status, got := post(t, server+"/speech/beta/synthesize", "application/x-www-form-urlencoded", body)
		require.Equal(t, want, status, string(got))
	}
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPost, http.MethodDelete} {
		status, got := ask(t, method, server+"/speech/beta/anything/else")
		require.Equal(t, 404, status)
		require.JSONEq(t, `{"detail":"Not Found","error":"Not Found","message":"Not Found"}`, got)
	}
}
