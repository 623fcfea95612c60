package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
	"github.com/recital-tts/recital/internal/testing/bintest"
	"github.com/recital-tts/recital/internal/testing/longtest"
	"github.com/recital-tts/recital/internal/testing/testlog"
)

// recitald is a process of the real binary.
type recitald struct {
	command *exec.Cmd
	admin   string
	ended   <-chan struct{}
}

var adminLine = regexp.MustCompile(`(?m)^  admin +http://(\S+)`)

// startProcess starts recitald and returns when it serves.
func startProcess(t *testing.T, dataDir string) *recitald {
	t.Helper()
	output, err := os.CreateTemp(dataDir, "said-")
	require.NoError(t, err)
	defer output.Close()
	r := &recitald{}
	r.command = exec.Command(speechworker.Beside("recitald").Path(), "--http-addr=127.0.0.1:0",
		"--admin-addr=127.0.0.1:0", "--standins-addr=127.0.0.1:0", "--data-dir="+dataDir, "--engines=1", "--codecs=1")
	r.command.Env = bintest.Environment()
	r.command.Stdout, r.command.Stderr = output, output
	r.ended = launch(t, r.command)
	t.Cleanup(r.kill)
	require.Eventually(t, func() bool {
		said, err := os.ReadFile(output.Name())
		require.NoError(t, err)
		select {
		case <-r.ended:
			require.Fail(t, "recitald did not start", string(said))
		default:
		}
		if found := adminLine.FindSubmatch(said); found != nil && bytes.Contains(said, []byte("Ctrl-C stops")) {
			r.admin = string(found[1])
		}
		return r.admin != ""
	}, patience, interval)
	return r
}

// kill sends SIGKILL.
func (r *recitald) kill() {
	_ = r.command.Process.Kill() // fails if it has exited
	<-r.ended
}

// gateway is an admin address that remains the same when the recitald behind it is restarted. It can kill recitald
// after the start of a rebuild, before recitalctl receives the response.
type gateway struct {
	behind   atomic.Pointer[recitald]
	kills    atomic.Bool
	rebuilds atomic.Int64
}

func (g *gateway) open(t *testing.T, dataDir string) (environment []string) {
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", g.behind.Load().admin },
		ModifyResponse: func(response *http.Response) error {
			if strings.HasSuffix(response.Request.URL.Path, "/rebuild") {
				answer, err := io.ReadAll(response.Body) // before the connection is cut
				if err != nil {
					return err
				}
				response.Body = io.NopCloser(bytes.NewReader(answer))
				if g.rebuilds.Add(1); g.kills.Load() {
					g.behind.Load().kill()
				}
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }, // cuts the connection,
	}
	environment = impostor(t, forward.ServeHTTP)
	return append(environment, "RECITAL_OPERATOR_TOKEN_FILE="+filepath.Join(dataDir, "operator-token"))
}

func TestARebuildOutlivesRecitaldAndRecitalctl(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	dataDir := pgtest.DataDir(t)
	var door gateway
	door.behind.Store(startProcess(t, dataDir))
	environment := door.open(t, dataDir)
	restart := func() { door.behind.Store(startProcess(t, dataDir)) }

	// given a rebuild, a recitald that is killed immediately, and a person who stops following
	door.kills.Store(true)
	tool := begin(t, environment, "projections", "rebuild", "account", "--promote")
	tool.awaitNote(t, "recitald does not answer; the rebuild continues when it is back")
	require.NoError(t, tool.command.Process.Signal(os.Interrupt))
	got := tool.end(t)
	assert.Equal(t, exitInterrupted, got.code)
	assert.Empty(t, got.out)
	for _, hint := range []string{
		"interrupted; the rebuild continues in recitald", "recitalctl projections follow account",
		"recitalctl projections list", "recitalctl projections retire account --generation 2"} {
		assert.Contains(t, got.notes, hint)
	}

	// when recitald restarts, then the rebuild ends with a promotion without a follower
	door.kills.Store(false)
	restart()
	require.Eventually(t, func() bool { return listed(t, environment, "account")[2].Live }, patience, interval)
	got = succeeds(t, environment, "projections", "follow", "account")
	assert.Equal(t, "Nothing is being built.\n", got.notes)

	// given another rebuild and a killed recitald, when it restarts, then recitalctl follows to the end
	door.kills.Store(true)
	tool = begin(t, environment, "projections", "rebuild", "account", "usage")
	tool.awaitNote(t, "recitald does not answer")
	door.kills.Store(false)
	restart()
	got = tool.end(t)
	require.Zero(t, got.code, got.notes)
	assert.Contains(t, got.notes, "recitald is back")
	assert.Regexp(t, `(?m)^account +\d+ +3 +no +current `, got.out)
	assert.Regexp(t, `(?m)^usage +\d+ +2 +no +current `, got.out)
	assert.Contains(t, got.notes, "recitalctl projections promote account usage")

	// when it is requested again, then the same one continues
	got = succeeds(t, environment, "projections", "rebuild", "account", "--promote")
	assert.Regexp(t, `(?m)^account +\d+ +3 +yes +current `, got.out)
	require.Len(t, listed(t, environment, "account"), 3)
	require.EqualValues(t, 3, door.rebuilds.Load())
}

// ongoing is a run of the tool in progress.
type ongoing struct {
	command    *exec.Cmd
	out, notes *testlog.Buffer
}

func begin(t *testing.T, environment []string, args ...string) *ongoing {
	t.Helper()
	f := &ongoing{command: exec.CommandContext(t.Context(), os.Args[0], args...), out: &testlog.Buffer{},
		notes: &testlog.Buffer{}}
	f.command.Env = append(environment, asTool+"=1")
	f.command.Dir = t.TempDir()
	f.command.Stdout, f.command.Stderr = f.out, f.notes
	require.NoError(t, f.command.Start())
	return f
}

func (f *ongoing) awaitNote(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(f.notes.String(), text) }, patience, interval,
		"no note %q", text)
}

func (f *ongoing) end(t *testing.T) ran {
	t.Helper()
	_ = f.command.Wait() // the exit code is sufficient
	return ran{code: f.command.ProcessState.ExitCode(), out: f.out.String(), notes: f.notes.String()}
}
