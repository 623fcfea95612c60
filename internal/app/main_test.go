package app_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/http/web/openapi/openapitest"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
	"github.com/recital-tts/recital/internal/testing/bintest"
)

// speechworker is the real binary, built once by TestMain.
var speechworker bintest.Program

func TestMain(m *testing.M) {
	workertest.Main(openapitest.Checked(m), &speechworker, []string{"standins", "neuralworker"}, ofLibraries()...)
}

// ofLibraries ignores goroutines that fasthttp leaves: one for the process, and one for each server until its next
// tick.
func ofLibraries() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
	}
}

// leaks returns a function that finds running goroutines that were started after the call of leaks.
func leaks() func() error {
	running := append(ofLibraries(), goleak.IgnoreCurrent())
	return func() error { return goleak.Find(running...) }
}

// processesIn lists the processes that run in a folder or have it in their arguments, except the guards of pgtest.
func processesIn(t testing.TB, folder string) []string {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	var found []string
	for _, process := range processes {
		arguments, _ := os.ReadFile(filepath.Join(process, "cmdline")) // empty if the process has ended
		place, _ := os.Readlink(filepath.Join(process, "cwd"))
		if strings.HasPrefix(string(arguments), "/bin/sh") {
			continue
		}
		if strings.HasPrefix(place, folder) || strings.Contains(string(arguments), folder) {
			found = append(found, strings.ReplaceAll(string(arguments), "\x00", " "))
		}
	}
	return found
}

// inUse returns an address with another listener.
func inUse(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

// config returns the configuration of a recitald in a new data folder, on free ports.
func config(t testing.TB) app.Config {
	t.Helper()
	return app.Config{
		Mode:          "dev",
		HTTPAddr:      "127.0.0.1:0",
		AdminAddr:     "127.0.0.1:0",
		StandInsAddr:  "127.0.0.1:0",
		DataDir:       pgtest.DataDir(t),
		SpeechWorker:  speechworker.Path(),
		LongestStream: time.Minute,
		LogFormat:     "text",
		LogLevel:      "info",
	}
}

// open starts a recitald and stops it at the end of the test. If the start exceeds a time limit on a slow machine, it
// is repeated, as by a supervisor.
func open(t testing.TB, cfg app.Config) *app.App {
	t.Helper()
	a, err := app.Open(t.Context(), cfg, io.Discard)
	for end := time.Now().Add(patience); isTooSlow(err) && time.Now().Before(end); {
		a, err = app.Open(t.Context(), cfg, io.Discard)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a
}

// isTooSlow reports whether an error is a time limit.
func isTooSlow(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || domain.CodeOf(err) == domain.Unavailable
}

// secret reads a file of the data folder.
func secret(t testing.TB, cfg app.Config, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(cfg.DataDir, name))
	require.NoError(t, err)
	return strings.TrimSpace(string(content))
}
