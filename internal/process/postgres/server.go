package postgres

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recital-tts/recital/internal/process/pause"
	"github.com/recital-tts/recital/internal/process/procfs"
)

const (
	fastShutdown      = 30 * time.Second // flushes everything and closes the connections
	immediateShutdown = 5 * time.Second  // exits at once; the next start recovers from the log
	watchInterval     = 100 * time.Millisecond
)

// server is a running postmaster: a child of this process, or one left by an earlier recitald.
type server struct {
	process *os.Process
	exited  chan struct{}
	last    *tail // its last output; nil unless it is our child
}

// launch starts a postmaster as a direct child.
func launch(binaries Installation, h *home, settings []string, relay *relay) (*server, error) {
	if err := removeStaleLocks(h); err != nil {
		return nil, err
	}
	if err := h.owner.Own(h.socketDir); err != nil { // again: a cleaner of temporary folders may have removed it
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
		// a backend that outlives the postmaster keeps the pipe open for a while
		_ = output.SetReadDeadline(time.Now().Add(time.Second))
		<-read
		_ = output.Close()
	}()
	return s, nil
}

// adopt returns the postmaster left by an earlier recitald, or nil.
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
		for serves(pid, h) { // not signal 0, which also reaches a zombie
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

// serves reports whether a process has the data folder as its working directory, like a postmaster. This distinguishes
// it from a process that has reused the id of a dead postmaster.
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

// removeStaleLocks removes the lock files of a dead postmaster. PostgreSQL itself refuses to start if the process id in
// them now belongs to any process of the same user, which is common in containers. It still detects living backends by
// their shared memory.
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
			return fmt.Errorf("removing the locks of a killed server: %w", err)
		}
	}
	return nil
}

// kill kills a hanging postmaster with its backends, which may hang, too, and would prevent the start of the next
// postmaster: PostgreSQL waits until none uses the shared memory.
func (s *server) kill() error {
	_ = s.process.Signal(syscall.SIGSTOP) // so that it starts no further backends
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
		_ = s.process.Signal(step.signal) // fails only if it has exited
		if err = s.awaitExit(step.patience); err == nil {
			return nil
		}
	}
	return err
}

// said returns the server's last output.
func (s *server) said() string {
	if s.last == nil {
		return "unknown, because an earlier recitald had started it"
	}
	return s.last.String()
}

const (
	lineLimit = 4096 // bytes of one line; longer ones are truncated
	tailLines = 8
)

// relay writes the server's output to the log. Unlike the output of workers it is quoted: Settings exclude the texts
// and the details of statements, which may contain client data (log_min_messages, log_min_error_statement,
// log_error_verbosity).
type relay struct{ logger *slog.Logger }

// run reads to the end of the output, even if a line is too long.
func (r *relay) run(output io.Reader, last *tail) {
	reader := bufio.NewReaderSize(output, lineLimit)
	cut := false // skipping the rest of a long line
	for {
		line, err := reader.ReadSlice('\n')
		if text := strings.TrimSpace(string(line)); text != "" && !cut {
			last.add(text)
			r.logger.Log(context.Background(), level(text), "postgres says", "line", text)
		}
		cut = errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !cut {
			return
		}
	}
}

// level hides the server's routine messages (starting, stopping, refused while starting).
func level(line string) slog.Level {
	switch {
	case strings.HasPrefix(line, "PANIC:"):
		return slog.LevelError
	case strings.HasPrefix(line, "WARNING:"), strings.Contains(line, "was terminated by signal"):
		return slog.LevelWarn
	default:
		return slog.LevelDebug
	}
}

// tail keeps the last lines for the error of a failed start.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
	if len(t.lines) > tailLines {
		t.lines = t.lines[1:]
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "; ")
}

// A server that leaves probeLimit consecutive probes unanswered is replaced. On a machine that is merely slow, one of
// them is answered. Existing connections would not detect a hanging postmaster or a missing socket.
const (
	probePause = 2 * time.Second // between two probes, each of which may take readyAttempt
	probeLimit = 3
)

// errFrozen means that a signal has stopped processes of the server (SIGSTOP). New connections may still be answered,
// while others wait for ever for a stopped backend or its locks.
var errFrozen = errors.New("some of its processes are stopped")

// awaitSilence waits until a server no longer answers, and returns the reason, or until ctx ends.
func (c *Cluster) awaitSilence(ctx context.Context, server *server) error {
	for unanswered := 0; ; {
		if err := pause.For(ctx, probePause); err != nil {
			return err
		}
		err := c.probe(ctx, server)
		if err == nil {
			unanswered = 0
			continue
		}
		if unanswered++; unanswered == probeLimit {
			return err
		}
	}
}

func (c *Cluster) probe(ctx context.Context, server *server) error {
	if slices.ContainsFunc(procfs.Children(server.process.Pid), procfs.Stopped) {
		return errFrozen
	}
	if err := c.execute(ctx, "postgres", "select"); !isAnswer(err) {
		return err
	}
	return nil
}

// isAnswer reports whether the server has answered, even with a refusal, because it is starting or has too many
// clients.
func isAnswer(err error) bool {
	var refusal *pgconn.PgError
	return err == nil || errors.As(err, &refusal)
}

// end stops a server that does not answer, or kills it if it hangs.
func (s *server) end(reason error) error {
	if pgconn.Timeout(reason) || errors.Is(reason, errFrozen) {
		return s.kill()
	}
	return s.stop()
}
