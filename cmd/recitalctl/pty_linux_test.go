package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/recital-tts/recital/internal/testing/bintest"
)

const (
	patience = 5 * time.Minute       // only ends waits that would last forever
	interval = 50 * time.Millisecond // between two requests
)

// session is a run of the tool on its own terminal, like an interactive one.
type session struct {
	t    *testing.T
	tool *exec.Cmd
	keys *os.File // typed input
	read chan struct{}

	mu     sync.Mutex
	screen bytes.Buffer
}

// onTerminal starts the tool on a pseudo terminal.
func onTerminal(t *testing.T, environment []string, args ...string) *session {
	t.Helper()
	person, program := openTerminal(t)
	s := &session{t: t, keys: person, read: make(chan struct{})}
	s.tool = exec.CommandContext(t.Context(), os.Args[0], args...)
	s.tool.Env = append(environment, asTool+"=1", "TERM=xterm")
	s.tool.Dir = t.TempDir()
	s.tool.Stdin, s.tool.Stdout, s.tool.Stderr = program, program, program
	s.tool.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true} // so that ^C is a signal
	require.NoError(t, s.tool.Start())
	require.NoError(t, program.Close())
	go s.watch()
	t.Cleanup(func() { _ = person.Close(); <-s.read })
	return s
}

// watch ends when the last process closes the terminal.
func (s *session) watch() {
	defer close(s.read)
	piece := make([]byte, 4096)
	for {
		n, err := s.keys.Read(piece)
		s.mu.Lock()
		s.screen.Write(piece[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (s *session) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.screen.String()
}

func (s *session) types(keys string) {
	s.t.Helper()
	_, err := s.keys.WriteString(keys)
	require.NoError(s.t, err)
}

func (s *session) awaitText(text string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return bytes.Contains([]byte(s.text()), []byte(text)) }, patience, interval,
		"no %q on the screen", text)
}

// ends returns the exit code and everything that was on the screen.
func (s *session) ends() (code int, screen string) {
	s.t.Helper()
	_ = s.tool.Wait() // the exit code is sufficient
	<-s.read
	return s.tool.ProcessState.ExitCode(), s.text()
}

// openTerminal opens both ends of a pseudo terminal (pts(4)).
func openTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		bintest.Missing(t, "opening a pseudo terminal: "+err.Error())
	}
	person = os.NewFile(uintptr(fd), "ptmx")
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120}))
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	return person, program
}
