package main_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
)

// asked sends a request as a caller and reads the complete reply.
func (g *gate) asked(method, path string, body any, v caller) (header http.Header, text []byte) {
	g.t.Helper()
	encoded, err := json.Marshal(body)
	require.NoError(g.t, err)
	request, err := http.NewRequest(method, g.address+path, bytes.NewReader(encoded))
	require.NoError(g.t, err)
	if method == http.MethodGet {
		request.Body, request.ContentLength = nil, 0
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header = v.addTo(request.Header)
	response, err := http.DefaultClient.Do(request)
	require.NoError(g.t, err)
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	require.NoError(g.t, err)
	require.Equal(g.t, 200, response.StatusCode, "%s", text)
	return response.Header, text
}

// speakOver synthesises a text over a WebSocket as a caller, and returns when the server closes it.
func (g *gate) speakOver(text string, v caller) {
	g.t.Helper()
	ws, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(g.address, "http")+"/v1/ai/speech/stream",
		v.addTo(http.Header{}))
	require.NoError(g.t, err)
	defer ws.Close()
	require.NoError(g.t, ws.SetReadDeadline(time.Now().Add(patience)))
	for _, message := range []order{{"voice": "leah"}, {"text": text}, {"eof": true}} {
		require.NoError(g.t, ws.WriteJSON(message))
	}
	for {
		if _, _, err := ws.ReadMessage(); err != nil {
			require.True(g.t, websocket.IsCloseError(err, websocket.CloseNormalClosure), "%v", err)
			return
		}
	}
}

// Syntheses in a browser are saved as clips, and are counted separately from those with API keys.
func TestSynthesesInABrowserArePlaygroundUsage(t *testing.T) {
	t.Parallel()
	// given an account with usage by key
	g := newGate(t)
	c := g.openAccount("free")
	key, browser := caller{key: c.key}, caller{cookie: g.signIn(c.id), proof: ownPage}
	speak := func(text string, v caller) http.Header {
		header, sound := g.asked(http.MethodPost, bytesRoute, order{"text": text, "voice": "leah"}, v)
		require.NotEmpty(t, sound)
		return header
	}
	require.Empty(t, speak("By key.", key).Get("x-clip-id"))

	// when its owner synthesises in a browser, on each route
	streamed := speak("Streamed.", browser)
	whole, _ := g.asked(http.MethodPost, "/v1/ai/speech", order{"text": "Whole.", "voice": "leah"}, browser)
	g.speakOver("Over a socket.", browser)
	g.speakOver("By key, too.", key)

	// then that is playground usage
	var shown accountView
	_, text := g.asked(http.MethodGet, "/v1/account", nil, browser)
	require.NoError(t, json.Unmarshal(text, &shown))
	require.EqualValues(t, len("By key.")+len("By key, too."), shown.Usage.Characters)
	require.EqualValues(t, len("Streamed.")+len("Whole.")+len("Over a socket."), shown.Usage.Playground)

	// and so it is in the usage histories
	var periods, days []map[string]any
	_, text = g.asked(http.MethodGet, "/v1/account/billing_history", nil, browser)
	require.NoError(t, json.Unmarshal(text, &periods))
	require.Equal(t, []map[string]any{{
		"plan": "free", "period_end": float64(shown.Usage.PeriodEnd),
		"chars_used": float64(shown.Usage.Characters), "playground_chars_used": float64(shown.Usage.Playground),
	}}, periods)
	_, text = g.asked(http.MethodGet, "/v1/account/daily_usage_history", nil, key)
	require.NoError(t, json.Unmarshal(text, &days))
	require.NotEmpty(t, days)
	sum := map[string]float64{}
	for _, day := range days { // two if the test runs at midnight
		sum["api"] += day["api_chars_used"].(float64)
		sum["playground"] += day["playground_chars_used"].(float64)
	}
	require.Equal(t, map[string]float64{"api": float64(shown.Usage.Characters),
		"playground": float64(shown.Usage.Playground)}, sum)
	var keys []map[string]any
	_, text = g.asked(http.MethodGet, "/v1/account/key_usage", nil, key)
	require.NoError(t, json.Unmarshal(text, &keys))
	require.Len(t, keys, 1)
	require.Equal(t, account.MaskAPIKey(c.key), keys[0]["api_key"])
	require.InDelta(t, shown.Usage.Characters, keys[0]["chars_used"], 0)

	// and each result is a clip that its owner can play
	said := map[string]string{}
	for _, kept := range c.clips(t).Clips {
		said[*kept.Text] = kept.URL
		require.False(t, kept.Debug)
	}
	require.Len(t, said, 3)
	for _, text := range []string{"Streamed.", "Whole.", "Over a socket."} {
		require.NotEmpty(t, said[text], "%v", said)
	}
	require.Contains(t, said["Streamed."], streamed.Get("x-clip-id"))
	require.Contains(t, said["Whole."], whole.Get("x-clip-id"))
}
