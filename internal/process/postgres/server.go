package postgres

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/recital-tts/recital/internal/process/procfs"
)

const (
	fastShutdown      = 30 * time.Second // flushes everything and closes the connections
	immediateShutdown = 5 * time.Second  // exits at once; the next start recovers from the log
	watchInterval     = 100 * time.Millisecond
)

// server is a running postmaster: a child of this process, or one that an earlier recitald left behind.
type server struct {
	process *os.Process
	exited  chan struct{}
	last    *tail // its last output; nil if it is not our child
}

// launch starts a postmaster as a direct child.
func launch(binaries Installation, h *home, settings []string, relay *relay) (*server, error) {
	if err := removeStaleLocks(h); err != nil {
		return nil, err
	}
	if err := h.owner.Own(h.socketDir); err != nil { // again: what clears temporary folders may have removed it
		return nil, fmt.Errorf("making the folder of the Postgres socket: %w", err)
	}
	cmd := h.owner.Command(h.data(), binaries.path("postgres"), settings...)
	output, input, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("starting Postgres: %w", err)
	}
	defer input.Close()
	cmd.Stdout, cmd.Stderr = input, input
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting Postgres: %w", err), output.Close())
	}
	s := &server{process: cmd.Process, exited: make(chan struct{}), last: &tail{}}
	read := make(chan struct{})
	go func() {
		defer close(read)
		relay.run(output, s.last)
	}()
	go func() {
		defer close(s.exited)
		_ = cmd.Wait() // the reason for its exit is in its output
		// A backend that outlives the postmaster holds the pipe open until it notices.
		_ = output.SetReadDeadline(time.Now().Add(time.Second))
		<-read
		_ = output.Close()
	}()
	return s, nil
}

// adopt returns the postmaster that an earlier recitald left behind, or nil.
func adopt(h *home) *server {
	pid, ok := postmaster(h)
	if !ok {
		return nil
	}
	process, err := os.FindProcess(pid) // a pidfd: it never refers to a later process with the same id
	if err != nil || !serves(pid, h) {
		return nil
	}
	s := &server{process: process, exited: make(chan struct{})}
	go func() {
		defer close(s.exited)
		for serves(pid, h) { // not signal 0, which also reaches a zombie that was not reaped
			time.Sleep(watchInterval)
		}
	}()
	return s
}

// postmaster returns the process that serves the data folder.
func postmaster(h *home) (pid int, found bool) {
	content, err := os.ReadFile(filepath.Join(h.data(), "postmaster.pid"))
	if err != nil {
		return 0, false
	}
	first, _, _ := strings.Cut(string(content), "\n")
	pid, err = strconv.Atoi(first)
	return pid, err == nil && pid > 1 && serves(pid, h)
}

// serves reports whether a process works in the data folder, as a postmaster does. This distinguishes it from a
// process that has reused the id of a postmaster that died.
func serves(pid int, h *home) bool {
	working, err := os.Stat(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil {
		return false
	}
	data, err := os.Stat(h.data())
	return err == nil && os.SameFile(working, data)
}

// runsWith reports whether the running postmaster was started by the same binaries with the same settings.
func runsWith(h *home, binaries Installation, settings []string) bool {
	content, err := os.ReadFile(filepath.Join(h.data(), "postmaster.opts"))
	if err != nil {
		return false
	}
	var wanted strings.Builder // as written by CreateOptsFile in PostgreSQL's postmaster.c
	wanted.WriteString(binaries.path("postgres"))
	for _, argument := range settings {
		wanted.WriteString(` "` + argument + `"`)
	}
	return strings.TrimSpace(string(content)) == wanted.String()
}

// removeStaleLocks removes the files of a postmaster that is gone. PostgreSQL itself refuses to start if the process
// id in them belongs to any process of the same user by now, which is common in containers. Backends that are still
// alive are detected nevertheless, by their shared memory.
func removeStaleLocks(h *home) error {
	if _, alive := postmaster(h); alive {
		return fmt.Errorf("another server runs on %s", h.data())
	}
	for _, name := range []string{
		filepath.Join(h.data(), "postmaster.pid"),
		filepath.Join(h.socketDir, socketName),
		filepath.Join(h.socketDir, socketName+".lock"),
	} {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing what a killed server left: %w", err)
		}
	}
	return nil
}

// kill ends a postmaster that hangs. Its backends may hang with it, and would keep the next postmaster from starting:
// PostgreSQL waits until none uses the shared memory.
func (s *server) kill() error {
	_ = s.process.Signal(syscall.SIGSTOP) // so that it starts no further ones
	backends := procfs.Children(s.process.Pid)
	_ = s.process.Kill()
	for _, backend := range backends {
		_ = syscall.Kill(backend, syscall.SIGKILL)
	}
	return s.awaitExit(immediateShutdown)
}

func (s *server) awaitExit(patience time.Duration) error {
	select {
	case <-s.exited:
		return nil
	case <-time.After(patience):
		return fmt.Errorf("the Postgres process %d does not end", s.process.Pid)
	}
}

// stop stops the server, gracefully first, and waits for it.
func (s *server) stop() (err error) {
	_ = s.process.Signal(syscall.SIGCONT) // it may have been stopped by a signal
	for _, step := range []struct {
		signal   syscall.Signal
		patience time.Duration
	}{{syscall.SIGINT, fastShutdown}, {syscall.SIGQUIT, immediateShutdown}, {syscall.SIGKILL, immediateShutdown}} {
		_ = s.process.Signal(step.signal) // fails only if it is gone
		if err = s.awaitExit(step.patience); err == nil {
			return nil
		}
	}
	return err
}

// said returns the server's last output.
func (s *server) said() string {
	if s.last == nil {
		return "nothing that was heard: an earlier recitald had started it"
	}
	return s.last.String()
}
