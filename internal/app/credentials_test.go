package app_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// status returns the status of a request with a key.
func status(t *testing.T, a *app.App, method, path, key string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+a.PublicAddr()+path, nil)
	require.NoError(t, err)
	request.Header.Set("x-api-key", key)
	return do(t, request).StatusCode
}

func TestARepeatedKeyIsCached(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	cfg := config(t)
	a := open(t, cfg)
	key, token := secret(t, cfg, "dev-api-key"), secret(t, cfg, "operator-token")
	var lines []string
	require.Eventually(t, func() bool {
		require.Equal(t, http.StatusOK, status(t, a, http.MethodGet, "/v1/account", key))
		lines = figures(t, a, token)
		live := slices.Contains(lines, "recital_revocation_live 1") // on a busy machine it may briefly be 0
		return live && !slices.Contains(lines, "recital_api_key_cache_hits_total 0")
	}, patience, pause)
	require.Subset(t, lines, []string{"recital_api_key_cache_keys 1", "recital_revocation_watches 0"})
	text := strings.Join(lines, "\n")
	require.False(t, strings.Contains(text, key[:7]) ||
		strings.Contains(text, account.HashAPIKey(key)), "the key is in the metrics")
}

func TestTheOperatorsRevokedKeyStaysRevoked(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given a key that was revoked
	cfg := config(t)
	first, err := app.Open(t.Context(), cfg, io.Discard)
	require.NoError(t, err)
	key := secret(t, cfg, "dev-api-key")
	require.Equal(t, http.StatusOK,
		status(t, first, http.MethodDelete, "/v1/account/api_key/"+account.MaskAPIKey(key), key))
	require.Equal(t, http.StatusUnauthorized, status(t, first, http.MethodGet, "/v1/account", key))
	require.NoError(t, first.Close())

	// when recitald restarts, then the welcome has the remedy and no key
	var log, welcome bytes.Buffer
	second, err := app.Open(t.Context(), cfg, &log)
	require.NoError(t, err)
	second.Welcome(&welcome, true)
	require.Equal(t, http.StatusUnauthorized, status(t, second, http.MethodGet, "/v1/account", key))
	require.NoError(t, second.Close())
	file := filepath.Join(cfg.DataDir, "dev-api-key")
	require.Contains(t, welcome.String(), "was revoked; delete "+file+" and start again for a new one")
	require.Contains(t, log.String(), "the operator account's API key was revoked")
	require.NotContains(t, welcome.String()+log.String(), key)

	// when the file is deleted, then there is a new key
	require.NoError(t, os.Remove(file))
	third := open(t, cfg)
	require.NotEqual(t, key, secret(t, cfg, "dev-api-key"))
	require.Equal(t, http.StatusOK, status(t, third, http.MethodGet, "/v1/account", secret(t, cfg, "dev-api-key")))
	require.Equal(t, http.StatusUnauthorized, status(t, third, http.MethodGet, "/v1/account", key))
}

func TestTheLimitsOfSocketsAreConfigurable(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(*app.Config)
		says string // to the second of two sockets
		both bool   // to the first, too, if a slow machine ends it before it is ready
	}{
		"number": {func(c *app.Config) { c.AccountSockets = 1 }, "The account has too many open WebSockets", false},
		"idle":   {func(c *app.Config) { c.SocketIdle = time.Second }, "Nothing was sent for too long", true},
		"length": {func(c *app.Config) { c.SocketLength = time.Second }, "The session has lasted too long", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(t)
			c.set(&cfg)
			a := open(t, cfg)
			var last *websocket.Conn
			for range 2 {
				ws, _, err := websocket.DefaultDialer.Dial("ws://"+a.PublicAddr()+"/v1/ai/speech/stream", nil)
				require.NoError(t, err)
				t.Cleanup(func() { ws.Close() })
				require.NoError(t, ws.SetReadDeadline(time.Now().Add(patience)))
				require.NoError(t, ws.WriteJSON(map[string]string{
					"X-API-Key": secret(t, cfg, "dev-api-key"), "voice": "leah", "lmnt-version": "1.1",
				}))
				_, message, err := ws.ReadMessage() // ready, or the end
				require.NoError(t, err)
				if last == nil && !(c.both && strings.Contains(string(message), c.says)) {
					require.Contains(t, string(message), "ready")
				}
				last = ws
			}
			_, _, err := last.ReadMessage()
			if err == nil {
				_, _, err = last.ReadMessage()
			}
			require.ErrorContains(t, err, c.says)
		})
	}
}
