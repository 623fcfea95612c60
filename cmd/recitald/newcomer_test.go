package main_test

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/libav/libavtest"
	"github.com/recital-tts/recital/internal/testing/bintest"
)

func TestTheFirstStartSpeaksAndTheNextHasItsData(t *testing.T) {
	t.Parallel()
	data := newFolder(t)

	// given a first start, which prints folder and key
	first := start(t, data)
	require.Equal(t, data, first.told(folderLine))
	require.Equal(t, first.secret("dev-api-key"), first.key)
	requireAnswers(t, first)

	// when the printed command is run, then it creates an mp3 that plays
	hello := first.runCurlLine()
	decoded, err := libavtest.Decode(audio.MP3, []byte(hello))
	require.NoError(t, err)
	require.Equal(t, 24000, decoded.Rate)
	require.Greater(t, decoded.Seconds(), 1.0)
	used := first.operator().usage(t)
	require.EqualValues(t, len("Hello world. This is Recital."), used)

	// when Ctrl-C is pressed, then everything ends cleanly
	children := first.children()
	require.NotEmpty(t, first.workers("engine"))
	require.NotEmpty(t, first.workers("codec"))
	require.Contains(t, children, first.postmaster())
	first.interrupt()
	require.NoError(t, first.err, "the exit code")
	require.NotRegexp(t, "level=(WARN|ERROR)", read(t, first.log))
	for _, child := range children {
		require.False(t, child.lives(), "%v was left behind", child.args)
	}
	require.NoFileExists(t, filepath.Join(data, "postgres", "data", "postmaster.pid"))

	// when it restarts, then key, account and usage are kept
	second := start(t, data)
	require.Equal(t, first.key, second.key)
	require.Equal(t, used, second.operator().usage(t))
	second.requireSettledBooks()

	// when SIGTERM arrives twice, or the terminal closes, then everything ends cleanly, too
	second.requireEndsBy(syscall.SIGTERM)
	start(t, data).requireEndsBy(syscall.SIGHUP)
}

// requireEndsBy sends a signal twice and checks that no process is left behind.
func (s *server) requireEndsBy(signal syscall.Signal) {
	s.t.Helper()
	children := s.children()
	require.NoError(s.t, s.command.Process.Signal(signal))
	s.eventually(func() bool { return strings.Contains(s.said(), "Stopping; ") })
	require.NoError(s.t, s.command.Process.Signal(signal))
	s.awaitEnd()
	require.NoError(s.t, s.err, "the exit code")
	for _, child := range children {
		require.False(s.t, child.lives(), "%v was left behind", child.args)
	}
}

func requireAnswers(t *testing.T, s *server) {
	t.Helper()
	for path, want := range map[string]string{"/health_check": `{"status":"ok"}`, "/ready_check": `{"status":"ready"}`,
		"/v1/damage_report": `{"red_alerts":[]}`} {
		answer := requireOK(t, do(t, s.operator().request(http.MethodGet, path, nil)))
		require.JSONEq(t, want, answer.text())
	}
}

// runCurlLine runs the command of the welcome message in an empty folder, and returns hello.mp3.
func (s *server) runCurlLine() string {
	s.t.Helper()
	line := s.told(curlLine)
	bintest.Tool(s.t, "curl")
	folder := s.t.TempDir()
	shell := exec.CommandContext(s.t.Context(), "/bin/sh", "-c", line)
	shell.Dir = folder
	output, err := shell.CombinedOutput()
	require.NoError(s.t, err, string(output))
	return read(s.t, filepath.Join(folder, "hello.mp3"))
}

// With too low a limit of open files, parts would fail later with obscure errors.
func TestTooFewFilesAreRefusedWithTheNumberThatIsNeeded(t *testing.T) {
	t.Parallel()
	started := exec.Command("sh", "-c", `ulimit -n 100; exec "$@"`, "sh", recitaldBinary.Path(),
		"--data-dir="+t.TempDir(), "--connections=5000")
	started.Env = bintest.Environment()
	said, err := started.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, 1, started.ProcessState.ExitCode(), "%s", said)
	require.Contains(t, string(said), "the limit of open files is 100: at least 256 are needed, and 6024 for "+
		"RECITAL_CONNECTIONS=5000")
}
