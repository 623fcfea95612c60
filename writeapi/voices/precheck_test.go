package voices

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/spool"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/quota"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/precheck"
)

// checker is a Checker by a function of the test.
type checker func(ctx context.Context, content string) (precheck.Result, error)

func (c checker) Check(ctx context.Context, upload audio.Upload) (precheck.Result, error) {
	content, err := io.ReadAll(io.NewSectionReader(upload, 0, upload.Size()))
	if err != nil {
		return precheck.Result{}, err
	}
	return c(ctx, string(content))
}

func servePrecheck(t *testing.T, places *quota.Budget, c checker) (url string) {
	t.Helper()
	uploads, err := spool.Open(spool.Config{Dir: filepath.Join(t.TempDir(), "uploads"), Budget: 64 << 20,
		MaxFile: 16 << 20})
	require.NoError(t, err)
	p := &API{Checker: c, Places: places, MaxUpload: 16 << 20}
	return webtest.Serve(t, web.Config{Routes: p.Routes(), Authenticator: keys{}, Uploads: uploads,
		Logger: slog.New(slog.DiscardHandler)}) + "/v1/ai/voice/precheck"
}

func TestARecordingIsChecked(t *testing.T) {
	url := servePrecheck(t, quota.New(1, 1), func(_ context.Context, content string) (precheck.Result, error) {
		require.Equal(t, "RIFF", content)
		return precheck.Result{DNSMOS: 3.25, Start: 0.5, End: 9.75}, nil
	})
	response, got := post(t, url, "account-1", []part{file("file", "RIFF")})
	require.Equal(t, 200, response.StatusCode)
	require.Equal(t, map[string]any{"dnsmos": 3.25, "start_s": 0.5, "end_s": 9.75}, got)
}

func TestWhatCannotBeChecked(t *testing.T) {
	var fails error
	url := servePrecheck(t, quota.New(1, 1),
		func(context.Context, string) (precheck.Result, error) { return precheck.Result{}, fails })
	response, got := post(t, url, "account-1", []part{field("name", "x")})
	require.Equal(t, 422, response.StatusCode)
	require.Equal(t, []any{map[string]any{"type": "missing", "loc": []any{"body", "file"}, "msg": "Field required"}},
		got["detail"])

	fails = &audio.UnusableError{Fault: audio.NotAudio, Message: "This is no audio"}
	response, got = post(t, url, "account-1", []part{file("file", "x")})
	require.Equal(t, 422, response.StatusCode)
	require.Equal(t, []any{"body", "file"}, got["detail"].([]any)[0].(map[string]any)["loc"])

	response, _ = post(t, servePrecheck(t, quota.New(0, 1), nil), "account-1", []part{file("file", "x")})
	require.Equal(t, 503, response.StatusCode)
	require.Equal(t, "5", response.Header.Get("Retry-After"))

	response, _ = post(t, url, "nobody", []part{file("file", "x")})
	require.Equal(t, 401, response.StatusCode)
}

func TestAnAddressHasOneRecordingCheckedAtOnce(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	url := servePrecheck(t, quota.New(2, 1), func(context.Context, string) (precheck.Result, error) {
		begun <- struct{}{}
		<-end
		return precheck.Result{DNSMOS: 1}, nil
	})
	first := make(chan int)
	go func() {
		response, _ := post(t, url, "account-1", []part{file("file", "x")})
		first <- response.StatusCode
	}()
	<-begun
	response, _ := post(t, url, "account-2", []part{file("file", "x")})
	require.Equal(t, http.StatusTooManyRequests, response.StatusCode)
	close(end)
	require.Equal(t, 200, <-first)
}
