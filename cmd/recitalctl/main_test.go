package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/http/web/openapi/openapitest"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
	"github.com/recital-tts/recital/internal/testing/bintest"
)

// asTool in the environment makes this test binary recitalctl.
const asTool = "RECITALCTL_TEST_AS_TOOL"

// speechworker is the real binary; recitald and recitalctl are in the same folder.
var speechworker bintest.Program

func TestMain(m *testing.M) {
	if os.Getenv(asTool) != "" {
		main()
	}
	program, remove, err := bintest.Build("speechworker", "recitald", "recitalctl", "neuralworker", "standins")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	speechworker = program
	code := openapitest.Checked(m).Run()
	remove()
	os.Exit(code)
}

// ran is the result of a run of the tool.
type ran struct {
	code       int
	out, notes string
}

// recitalctl runs the tool in a separate process, with these settings in its environment and no others.
func recitalctl(t *testing.T, environment []string, args ...string) ran {
	t.Helper()
	var out, notes bytes.Buffer
	tool := exec.CommandContext(t.Context(), speechworker.Beside("recitalctl").Path(), args...)
	tool.Env = append([]string{}, environment...) // no settings are none, and not those of the test
	tool.Dir = t.TempDir()
	tool.Stdout, tool.Stderr = &out, &notes
	err := tool.Run()
	if exit := new(exec.ExitError); !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	requireNarrow(t, args, out.String())
	return ran{code: tool.ProcessState.ExitCode(), out: out.String(), notes: notes.String()}
}

// succeeds is recitalctl for a command that must succeed.
func succeeds(t *testing.T, environment []string, args ...string) ran {
	t.Helper()
	got := recitalctl(t, environment, args...)
	require.Zero(t, got.code, got.notes)
	return got
}

// opens opens an account and returns the output of the command in JSON.
func opens(t *testing.T, environment []string, args ...string) (opened adminapi.OpenResponse) {
	t.Helper()
	got := succeeds(t, environment, append([]string{"accounts", "create", "--format", "json"}, args...)...)
	require.NoError(t, json.Unmarshal([]byte(got.out), &opened))
	return opened
}

// launch starts a process in a group of its own, which dies with the test's. The channel is closed when it has ended.
func launch(t *testing.T, command *exec.Cmd) (ended <-chan struct{}) {
	t.Helper()
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started, done := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // Pdeathsig refers to the thread that started the process
		defer runtime.UnlockOSThread()
		defer close(done)
		err := command.Start()
		started <- err
		if err == nil {
			_ = command.Wait()
		}
	}()
	require.NoError(t, <-started)
	return done
}

// startRecitald starts a real recitald in a new data folder, with changed settings. Its log is shown if the test fails.
func startRecitald(t *testing.T, changes ...func(*app.Config)) (a *app.App, dataDir string) {
	t.Helper()
	dataDir = pgtest.DataDir(t)
	config := app.Config{
		Mode: "dev", HTTPAddr: "127.0.0.1:0", AdminAddr: "127.0.0.1:0", StandInsAddr: "127.0.0.1:0", DataDir: dataDir,
		SpeechWorker: speechworker.Path(), LongestStream: time.Minute, Engines: 1, Codecs: 1,
	}
	for _, change := range changes {
		change(&config)
	}
	a, err := app.Open(t.Context(), config, t.Output())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a, dataDir
}
