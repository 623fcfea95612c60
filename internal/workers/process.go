package workers

import (
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
)

// Command tells how to start a worker.
type Command struct {
	Path string    // of the speechworker binary
	Args []string  // its mode and options; never anything that a client sent
	Log  io.Writer // takes the worker's standard error; nil throws it away
}

// Process is a running worker. It ends by itself when its input is closed, also when recitald is killed.
type Process struct {
	In  *Writer
	Out *Reader

	stdin io.Closer
	cmd   *exec.Cmd
	done  chan struct{}
	err   error // of Wait; readable after done is closed

	closeInput sync.Once
}

// Start starts a worker in a process group of its own, so that a Ctrl-C in the terminal reaches recitald alone.
func Start(command Command) (*Process, error) {
	cmd := exec.Command(command.Path, command.Args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = command.Log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("opening a worker's input: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("opening a worker's output: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting a worker: %w", err)
	}
	p := &Process{In: NewWriter(stdin), stdin: stdin, cmd: cmd, done: make(chan struct{})}
	p.Out = NewReader(&untilExit{output: stdout, process: p})
	return p, nil
}

// PID is the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// CloseInput tells the worker to finish and exit.
func (p *Process) CloseInput() {
	p.closeInput.Do(func() { _ = p.stdin.Close() })
}

// Kill ends the worker at once. Read returns io.EOF or io.ErrUnexpectedEOF soon after.
func (p *Process) Kill() { _ = p.cmd.Process.Kill() }

// Done is closed when the worker has exited and its output has been read to the end.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err tells how the worker exited, nil for a clean exit. Call it after Done.
func (p *Process) Err() error { return p.err }

// untilExit reads the worker's output and reaps the worker at its end: Wait must not run before all output was read.
type untilExit struct {
	output  io.Reader
	process *Process
	once    sync.Once
}

func (u *untilExit) Read(buffer []byte) (int, error) {
	n, err := u.output.Read(buffer)
	if err != nil {
		u.once.Do(func() {
			u.process.CloseInput()
			u.process.err = u.process.cmd.Wait()
			close(u.process.done)
		})
	}
	return n, err
}
