package voices

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/links"
	"github.com/recital-tts/recital/internal/web"
	"github.com/recital-tts/recital/internal/web/webtest"
)

func TestMain(m *testing.M) { webtest.Main(m) }

type anyKey struct{}

func (anyKey) APIKey(context.Context, string) (web.Principal, error) {
	return web.Principal{Account: "a1"}, nil
}

func get(t *testing.T, url, key string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	if key != "" {
		request.Header.Set("x-api-key", key)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

func serve(t *testing.T, base string) string {
	t.Helper()
	return webtest.Serve(t, web.Config{Routes: (&API{Links: links.New(base, nil)}).Routes(), Authenticator: anyKey{}})
}

func TestVoicesAreListed(t *testing.T) {
	url := serve(t, "https://speak.example")
	nine := []string{"leah", "ava", "lily", "zeke", "morgan", "elowen", "curtis", "amy", "ansel"}
	tests := map[string][]string{
		"":                         nine,
		"?owner=all&starred=false": nine,
		"?owner=all&starred=False": nine,
		"?owner=system":            nine,
		"?owner=system,me":         nine,
		"?owner=me":                {},
		"?starred=true":            {},
	}
	for query, want := range tests {
		t.Run(query, func(t *testing.T) {
			status, body := get(t, url+"/v1/ai/voice/list"+query, "any")
			require.Equal(t, 200, status, body)
			var voices []voice
			require.NoError(t, json.Unmarshal([]byte(body), &voices))
			ids := []string{}
			for _, v := range voices {
				ids = append(ids, v.ID)
				require.Equal(t, []string{"ready", "system", "intrinsic"}, []string{v.State, v.Owner, v.Type})
				require.NotEmpty(t, v.Description)
				require.Equal(t, "https://speak.example/v1/ai/voice/"+v.ID+"/preview", v.PreviewURL)
			}
			require.Equal(t, want, ids)
		})
	}
}

func TestOneVoice(t *testing.T) {
	url := serve(t, "")
	status, body := get(t, url+"/v1/ai/voice/zeke", "any")
	require.Equal(t, 200, status)
	require.JSONEq(t, `{"id":"zeke","name":"Zeke","state":"ready","owner":"system","type":"intrinsic",
		"description":"Even and relaxed, a plain everyday voice.","gender":"M","starred":false,"tags":[],
		"preview_url":"`+url+`/v1/ai/voice/zeke/preview"}`, body)
	status, body = get(t, url+"/speech/beta/voices", "any")
	require.Equal(t, 200, status)
	var beta betaResponse
	require.NoError(t, json.Unmarshal([]byte(body), &beta))
	require.Len(t, beta.Voices, 9)
	require.Equal(t, "Zeke", beta.Voices["zeke"].Name)
}

func TestWhatIsRefused(t *testing.T) {
	url := serve(t, "")
	tests := []struct {
		path, key string
		status    int
	}{
		{"/v1/ai/voice/list", "", 401},
		{"/v1/ai/voice/list?owner=nobody", "any", 422},
		{"/v1/ai/voice/list?owner=system,nobody", "any", 422},
		{"/v1/ai/voice/list?starred=perhaps", "any", 422},
		{"/v1/ai/voice/nobody", "any", 404},
		{"/v1/ai/voice/f2", "any", 404}, // the engine's own name of a voice
		{"/v1/ai/voice/..%2F..%2Fetc", "any", 404},
		{"/v1/ai/voice/zeke", "", 401},
		{"/v1/ai/voice/nobody/preview", "", 404},
		{"/speech/beta/voices", "", 401},
	}
	for _, test := range tests {
		t.Run(test.path, func(t *testing.T) {
			status, body := get(t, url+test.path, test.key)
			require.Equal(t, test.status, status, body)
		})
	}
}
