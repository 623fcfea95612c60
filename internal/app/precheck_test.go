package app_test

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/longtest"
)

// A recording is received, decoded and measured, and not stored.
func TestARecordingIsPrechecked(t *testing.T) {
	longtest.Only(t)
	cfg := config(t)
	a := open(t, cfg)
	key := secret(t, cfg, "dev-api-key")
	send := func(path, contentType string, body io.Reader) (*http.Response, []byte) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+a.PublicAddr()+path, body)
		require.NoError(t, err)
		request.Header.Set("X-API-Key", key)
		request.Header.Set("Content-Type", contentType)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		got, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response, got
	}
	check := func(recording []byte) (*http.Response, []byte) {
		var form bytes.Buffer
		w := multipart.NewWriter(&form)
		to, err := w.CreateFormFile("file", "me.wav")
		require.NoError(t, err)
		_, err = to.Write(recording)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return send("/v1/ai/voice/precheck", w.FormDataContentType(), &form)
	}

	response, speech := send("/v1/ai/speech/bytes", "application/json",
		bytes.NewReader([]byte(`{"text":"The quick brown fox jumps over the lazy dog.","voice":"leah","format":"wav"}`)))
	require.Equal(t, 200, response.StatusCode)
	require.Greater(t, len(speech), 64<<10)
	response, got := check(speech)
	require.Equal(t, 200, response.StatusCode, string(got))
	var found struct {
		DNSMOS float64 `json:"dnsmos"`
		Start  float64 `json:"start_s"`
		End    float64 `json:"end_s"`
	}
	require.NoError(t, json.Unmarshal(got, &found))
	require.True(t, 3 < found.DNSMOS && found.DNSMOS <= 5, string(got))
	require.True(t, 0 <= found.Start && found.Start < 0.5 && found.End > 1.5, string(got))

	response, got = check([]byte("#EXTM3U\nfile:///etc/passwd\n"))
	require.Equal(t, 422, response.StatusCode, string(got))
	require.Contains(t, string(got), `"file"`)

	left, err := os.ReadDir(filepath.Join(cfg.DataDir, "uploads"))
	require.NoError(t, err)
	require.Empty(t, left)
}
