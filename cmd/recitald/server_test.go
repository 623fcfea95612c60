package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
	"github.com/recital-tts/recital/internal/testing/bintest"
)

const (
	patience = 5 * time.Minute       // only ends waits that would last forever
	pause    = 50 * time.Millisecond // between two attempts, each of which may be a request
)

// server is a running recitald with its own process group, as in a terminal.
type server struct {
	t       *testing.T
	data    string
	cgroup  *memoryCgroup // of its processes; nil for the test's own
	command *exec.Cmd
	ended   chan struct{}
	err     error // of the process; readable after ended is closed

	output  string // the file of standard output
	log     string // the file of standard error
	address string
	admin   string
	key     string // of the operator account
}

// dataFolder returns a folder that Postgres' user can enter, with an empty cluster. At the test's end its Postgres is
// stopped and the folder is removed.
func dataFolder(t *testing.T) string {
	t.Helper()
	return pgtest.DataDir(t)
}

// newFolder is dataFolder without a cluster.
func newFolder(t *testing.T) string {
	t.Helper()
	return filepath.Dir(pgtest.ClusterDir(t)) // recitald keeps its cluster in <data>/postgres
}

// start starts recitald, with one codec unless the flags set another number, and returns when it has printed that it is
// running. It is killed when the test ends.
func start(t *testing.T, data string, flags ...string) *server {
	t.Helper()
	s := newServer(t, data)
	t.Cleanup(s.kill)
	s.begin(flags...)
	return s
}

func newServer(t *testing.T, data string) *server {
	t.Helper()
	said, err := os.MkdirTemp(data, "said-") // it is removed with the folder
	require.NoError(t, err)
	return &server{
		t: t, data: data, ended: make(chan struct{}),
		output: filepath.Join(said, "stdout"), log: filepath.Join(said, "stderr"),
	}
}

func (s *server) begin(flags ...string) {
	s.t.Helper()
	s.launch(append([]string{
		"--http-addr=127.0.0.1:0", "--admin-addr=127.0.0.1:0", "--standins-addr=127.0.0.1:0",
		"--data-dir=" + s.data, "--codecs=1",
	}, flags...))
	s.readWelcome()
}

func (s *server) launch(flags []string) {
	s.t.Helper()
	stdout, err := os.Create(s.output)
	require.NoError(s.t, err)
	defer stdout.Close()
	stderr, err := os.Create(s.log)
	require.NoError(s.t, err)
	defer stderr.Close()

	s.command = exec.Command(recitaldBinary.Path(), flags...)
	s.command.Env = bintest.Environment()
	s.command.Stdout, s.command.Stderr = stdout, stderr
	s.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if s.cgroup != nil {
		s.cgroup.contain(s.command)
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // Pdeathsig refers to the thread that started the process
		defer runtime.UnlockOSThread()
		defer close(s.ended)
		err := s.command.Start()
		started <- err
		if err == nil {
			s.err = s.command.Wait()
		}
	}()
	require.NoError(s.t, <-started)
	s.t.Cleanup(s.explain)
}

// explain logs the end of recitald's log, without answered requests, if the test has failed.
func (s *server) explain() {
	if !s.t.Failed() {
		return
	}
	lines := slices.DeleteFunc(strings.Split(read(s.t, s.log), "\n"), answeredLine.MatchString)
	s.t.Logf("the end of the log of recitald:\n%s", strings.Join(lines[max(0, len(lines)-60):], "\n"))
}

var answeredLine = regexp.MustCompile(`\bmsg"?[=:]"?request\b.*\bstatus"?[=:][23]`)

var (
	addressLine = regexp.MustCompile(`(?m)^  address +(http://\S+)$`)
	adminLine   = regexp.MustCompile(`(?m)^  admin +(http://\S+)`)
	keyLine     = regexp.MustCompile(`(?m)^  API key +(\S+)`)
	folderLine  = regexp.MustCompile(`(?m)^  data folder +(\S+)$`)
	curlLine    = regexp.MustCompile(`(?m)^  (curl (?:.*\\\n)*.+)$`)
)

func (s *server) readWelcome() {
	s.t.Helper()
	s.eventually(func() bool { return strings.Contains(s.said(), "Ctrl-C stops everything") || s.hasEnded() })
	require.False(s.t, s.hasEnded(), "recitald did not start: %s", read(s.t, s.log))
	s.address = s.told(addressLine)
	s.admin = s.told(adminLine)
	s.key = s.told(keyLine)
}

// said returns recitald's standard output so far.
func (s *server) said() string {
	s.t.Helper()
	return read(s.t, s.output)
}

func (s *server) told(line *regexp.Regexp) string {
	s.t.Helper()
	found := line.FindStringSubmatch(s.said())
	require.NotNil(s.t, found, "the welcome lacks %s:\n%s", line, s.said())
	return found[1]
}

func (s *server) hasEnded() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// interrupt signals recitald's process group, like Ctrl-C in a terminal, and returns when recitald has exited.
func (s *server) interrupt() {
	s.t.Helper()
	require.NoError(s.t, syscall.Kill(-s.command.Process.Pid, syscall.SIGINT))
	s.awaitEnd()
}

// kill sends SIGKILL to recitald alone and waits for its end.
func (s *server) kill() {
	_ = s.command.Process.Kill() // an error means that it has exited
	<-s.ended
}

func (s *server) awaitEnd() {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		require.Fail(s.t, "recitald does not end", read(s.t, s.log))
	}
}

// secret reads a file of the data folder that contains a token or key.
func (s *server) secret(name string) string {
	s.t.Helper()
	return strings.TrimSpace(read(s.t, filepath.Join(s.data, name)))
}

func (s *server) eventually(condition func() bool) {
	s.t.Helper()
	require.Eventually(s.t, condition, patience, pause)
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(content)
}
