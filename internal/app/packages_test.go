package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/neural/neuraltest"
	"github.com/recital-tts/recital/internal/speech/voicepack"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// operator is a client of both addresses of a recitald.
type operator struct {
	testing.TB
	public, admin, key, token string
}

func (o operator) ask(method, url string, body []byte) (*http.Response, []byte) {
	o.Helper()
	request, err := http.NewRequestWithContext(o.Context(), method, url, bytes.NewReader(body))
	require.NoError(o, err)
	request.Header.Set("X-API-Key", o.key)
	request.Header.Set("Authorization", "Bearer "+o.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	require.NoError(o, err)
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	require.NoError(o, err)
	return response, got
}

// install uploads and installs a package.
func (o operator) install(folder string) (*http.Response, []byte) {
	o.Helper()
	var archive bytes.Buffer
	require.NoError(o, voicepack.Write(&archive, os.DirFS(folder)))
	p, err := voicepack.Open(os.DirFS(folder))
	require.NoError(o, err)
	for at := 0; archive.Len() > 0; {
		piece := archive.Next(512 << 10)
		response, got := o.ask(http.MethodPut, fmt.Sprintf("%s/admin/voices/package?offset=%d", o.admin, at), piece)
		require.Equal(o, 200, response.StatusCode, string(got))
		at += len(piece)
	}
	return o.ask(http.MethodPost, o.admin+"/admin/voices", fmt.Appendf(nil, `{"sha256":%q}`, p.SHA256))
}

func (o operator) speak(voice, more string) (*http.Response, []byte) {
	o.Helper()
	return o.ask(http.MethodPost, o.public+"/v1/ai/speech/bytes",
		fmt.Appendf(nil, `{"text":"The quick brown fox, and the lazy dog.","voice":%q,"format":"wav"%s}`, voice, more))
}

func TestAnInstalledVoiceSpeaks(t *testing.T) {
	longtest.Only(t)
	cfg := config(t)
	library := neuraltest.Runtime(t)
	a := open(t, cfg)
	o := operator{t, "http://" + a.PublicAddr(), "http://" + a.AdminAddr(), secret(t, cfg, "dev-api-key"),
		secret(t, cfg, "operator-token")}
	response, _ := o.speak("toy", "")
	require.Equal(t, 404, response.StatusCode)

	// when the library is there, as after make voices, then the voice is installed without a restart
	response, got := o.install(neuraltest.Package(t, "toy"))
	require.Equal(t, 409, response.StatusCode, string(got))
	require.Contains(t, string(got), "no ONNX Runtime")
	require.NoError(t, os.Mkdir(filepath.Join(cfg.DataDir, "onnxruntime"), 0o755))
	require.NoError(t, os.Symlink(library, filepath.Join(cfg.DataDir, "onnxruntime", "libonnxruntime.so")))
	response, got = o.install(neuraltest.Package(t, "toy"))
	require.Equal(t, 200, response.StatusCode, string(got))
	var installed struct {
		Streams int
		Running bool
	}
	require.NoError(t, json.Unmarshal(got, &installed))
	require.True(t, installed.Running && installed.Streams > 0, string(got))

	// then it is listed with its attribution, and speaks deterministically at every speed
	_, got = o.ask(http.MethodGet, o.public+"/v1/ai/voice/list", nil)
	require.Contains(t, string(got), "Toy (made by tests)")
	response, first := o.speak("toy", "")
	require.Equal(t, 200, response.StatusCode, string(first))
	require.Empty(t, response.Header.Get("x-warning"))
	require.Greater(t, len(first), 20_000)
	_, again := o.speak("toy", "")
	require.Equal(t, first, again)
	_, leah := o.speak("leah", "")
	require.NotEqual(t, leah, first)
	_, fast := o.speak("toy", `,"speed":2`)
	require.InEpsilon(t, len(first)/2, len(fast), 0.05)
	response, _ = o.speak("toy", `,"language":"de"`)
	require.Equal(t, 200, response.StatusCode)
	require.Contains(t, response.Header.Get("x-warning"), "does not speak this language")
	response, _ = o.ask(http.MethodGet, o.public+"/v1/ai/voice/toy/preview", nil)
	require.Equal(t, 200, response.StatusCode)

	response, got = o.ask(http.MethodPost, o.admin+"/admin/voices/toy/test", []byte(`{}`))
	require.Equal(t, 200, response.StatusCode, string(got))
	require.Contains(t, string(got), `"missing":[]`, "it knows all symbols")

	// and it can speak for a system voice, under that voice's name
	response, got = o.ask(http.MethodPost, o.admin+"/admin/system-voices/leah", []byte(`{"voice":"toy"}`))
	require.Equal(t, 200, response.StatusCode, string(got))
	response, got = o.speak("leah", "")
	require.Equal(t, first, got)
	require.Empty(t, response.Header.Get("x-warning"))
	_, got = o.ask(http.MethodGet, o.public+"/v1/ai/voice/list", nil)
	require.Contains(t, string(got), "the default voice. Toy (made by tests)")
	response, _ = o.ask(http.MethodPost, o.admin+"/admin/system-voices/toy", []byte(`{"voice":"toy"}`))
	require.Equal(t, 404, response.StatusCode, "it is no system voice")
	response, _ = o.ask(http.MethodPost, o.admin+"/admin/system-voices/leah", []byte(`{"voice":""}`))
	require.Equal(t, 200, response.StatusCode)
	_, got = o.speak("leah", "")
	require.Equal(t, leah, got)

	// and an invalid package is refused
	broken := neuraltest.Package(t, "broken")
	neuraltest.Break(t, broken)
	response, got = o.install(broken)
	require.Equal(t, 409, response.StatusCode, string(got))
	require.Contains(t, string(got), "cannot be installed")

	// and it is gone once it is removed
	response, got = o.ask(http.MethodDelete, o.admin+"/admin/voices/toy", nil)
	require.Equal(t, 200, response.StatusCode, string(got))
	require.Eventually(t, func() bool {
		response, _ := o.speak("toy", "")
		return response.StatusCode == 404
	}, patience, pause)
}
