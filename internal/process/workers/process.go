package workers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/recital-tts/recital/internal/process/procfs"
)

// logDelay is the time that a worker's standard error may stay open after its exit, because a child of the worker could
// hold it open.
const logDelay = time.Second

// Command describes how to start a worker.
type Command struct {
	Path string   // of the speechworker binary
	Args []string // its mode and options; never anything from a client
	// Logs the size of the worker's output to standard error, and its text only if a library is missing; nil discards it.
	Logger *slog.Logger

	// Alone hides recitald's environment, which may contain secrets, from a worker with untrusted data.
	Alone bool
	Env   []string // further variables, as NAME=value, for a worker that is Alone
}

// libraryPath is the only inherited variable of a worker that is Alone.
const libraryPath = "LD_LIBRARY_PATH"

// Process is a running worker. It exits by itself when its input is closed, even if recitald is killed.
type Process struct {
	In  *Writer
	Out *Reader // its output remains readable to the end after the exit

	stdin   io.Closer
	cmd     *exec.Cmd
	printed *stderr // nil without a logger
	done    chan struct{}
	err     error // of Wait; readable after done is closed

	closeInput sync.Once
}

// Start starts a worker in a process group of its own, so that a Ctrl-C in the terminal only reaches recitald. A worker
// stopped by a signal is killed within 3 s.
func Start(command Command) (*Process, error) {
	cmd := exec.Command(command.Path, command.Args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var printed *stderr
	if command.Logger != nil {
		printed = newStderr(command)
		cmd.Stderr = printed
	}
	if command.Alone {
		cmd.Env = append([]string{libraryPath + "=" + os.Getenv(libraryPath)}, command.Env...)
	}
	cmd.WaitDelay = logDelay
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("opening a worker's input: %w", err)
	}
	// Not StdoutPipe, because Wait would close it before all of the output is read.
	output, stdout, err := os.Pipe()
	if err != nil {
		_ = stdin.Close()
		return nil, fmt.Errorf("opening a worker's output: %w", err)
	}
	cmd.Stdout = stdout
	err = cmd.Start()
	_ = stdout.Close() // the worker has its own; ours would hide the end of the output
	if err != nil {
		_ = output.Close()
		return nil, fmt.Errorf("starting a worker: %w", err)
	}
	p := &Process{
		In: NewWriter(stdin), Out: NewReader(&untilEnd{output}), stdin: stdin,
		cmd: cmd, printed: printed, done: make(chan struct{}),
	}
	go p.reap()
	go p.watch(command.Logger)
	return p, nil
}

// reap waits for the worker's exit, whether its output is read or not, so that no zombie remains.
func (p *Process) reap() {
	p.err = p.printed.explain(p.cmd.Wait())
	p.CloseInput()
	close(p.done)
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// CloseInput makes the worker finish and exit.
func (p *Process) CloseInput() {
	p.closeInput.Do(func() { _ = p.stdin.Close() })
}

// Kill kills the worker. Read returns io.EOF or io.ErrUnexpectedEOF soon after.
func (p *Process) Kill() { _ = p.cmd.Process.Kill() }

// End kills the worker and discards the rest of its output.
func (p *Process) End() {
	p.Kill()
	for err := error(nil); err == nil; {
		_, err = p.Out.Read()
	}
	<-p.done
}

// Done returns a channel that is closed when the worker has exited. Its earlier output can still be read.
func (p *Process) Done() <-chan struct{} { return p.done }

// Death returns the reason for the worker's exit. It must be called after Done.
func (p *Process) Death() error {
	if p.err != nil {
		return fmt.Errorf("the process died: %w", p.err)
	}
	return errors.New("the process ended")
}

// Err returns the error of the worker's exit, nil for a clean exit. It must be called after Done.
func (p *Process) Err() error { return p.err }

// untilEnd reads the worker's output and closes it at its end.
type untilEnd struct{ output *os.File }

func (u *untilEnd) Read(buffer []byte) (int, error) {
	n, err := u.output.Read(buffer)
	if err != nil {
		_ = u.output.Close()
	}
	return n, err
}

// watchInterval is the time between two checks of a worker. A worker that two consecutive checks find stopped is
// killed.
const watchInterval = time.Second

// watch kills the worker if it or one of its children has been stopped (SIGSTOP), because it would neither answer nor
// exit. A worker that is merely slow is never in that state.
func (p *Process) watch(logger *slog.Logger) {
	looks := time.NewTicker(watchInterval)
	defer looks.Stop()
	for before := false; ; {
		select {
		case <-looks.C:
		case <-p.done:
			return
		}
		stopped := procfs.Stopped(p.PID()) || slices.ContainsFunc(procfs.Children(p.PID()), procfs.Stopped)
		if stopped && before {
			if logger != nil {
				logger.Warn("a worker was stopped by a signal and is killed", "pid", p.PID())
			}
			p.Kill()
			return
		}
		before = stopped
	}
}

// stderr receives a worker's standard error. C libraries print to it, and may quote client data, so only its size is
// logged. If the worker could not be loaded, it has read no data yet, and the text is used.
type stderr struct {
	logger *slog.Logger
	worker string
	first  []byte // at most firstPrinted bytes
}

const (
	firstPrinted = 300
	// NotLoaded is the exit status of a worker that lacks a library, like the dynamic loader's (ld.so(8)).
	NotLoaded = 127
)

func newStderr(command Command) *stderr {
	return &stderr{logger: command.Logger, worker: strings.Join(command.Args, " ")}
}

func (s *stderr) Write(p []byte) (int, error) {
	s.first = append(s.first, p[:min(len(p), firstPrinted-len(s.first))]...)
	s.logger.LogAttrs(context.Background(), slog.LevelDebug, "a worker printed to standard error",
		slog.String("worker", s.worker), slog.Int("lines", bytes.Count(p, []byte("\n"))), slog.Int("bytes", len(p)))
	return len(p), nil
}

// explain adds the printed text to the exit error of a worker that could not be loaded.
func (s *stderr) explain(err error) error {
	var exit *exec.ExitError
	if s == nil || !errors.As(err, &exit) || exit.ExitCode() != NotLoaded {
		return err
	}
	line, _, _ := strings.Cut(string(s.first), "\n")
	return fmt.Errorf("%w: %q", err, line)
}
