package workers_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/testing/testlog"
)

const soon = time.Minute // bounds all waits, even on a slow machine

// roles are the roles of this test binary when it is started as a worker.
func roles() map[string]func() int {
	return map[string]func() int{
		"echo":  echo,
		"stuck": stuck,
		"fails": func() int { fmt.Fprintln(os.Stderr, "something is wrong"); return 3 },
		"unloaded": func() int {
			fmt.Fprintln(os.Stderr, "speechworker: error while loading shared libraries: libflite.so.1")
			return 127
		},
		"torn":   func() int { _, _ = os.Stdout.Write([]byte{1, 0, 0, 0, 0, 9, 0, 0, 0, 'x'}); return 0 },
		"talks":  talks,
		"parent": parent,
	}
}

// echo sends every frame back.
func echo() int {
	in, out := workers.NewReader(os.Stdin), workers.NewWriter(os.Stdout)
	for {
		frame, err := in.Read()
		if err != nil {
			return 0
		}
		if out.Write(frame) != nil {
			return 1
		}
	}
}

// stuck ignores its input and signals.
func stuck() int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	_ = workers.NewWriter(os.Stdout).Write(workers.Frame{Kind: 1})
	select {}
}

// talks writes frames that fit into a pipe, and exits without waiting for a reader.
func talks() int {
	out := workers.NewWriter(os.Stdout)
	for i := range talked {
		_ = out.Write(workers.Frame{Kind: 1, Stream: uint32(i), Payload: make([]byte, 1000)})
	}
	return 0
}

const talked = 50

// parent starts a worker, prints its id, and runs until it is killed.
func parent() int {
	child, err := workers.Start(worker("echo"))
	if err != nil {
		return 1
	}
	fmt.Println(child.PID())
	<-child.Done()
	return 0
}

func TestMain(m *testing.M) {
	if len(os.Args) == 2 {
		if play, ok := roles()[os.Args[1]]; ok {
			os.Exit(play())
		}
	}
	goleak.VerifyTestMain(m)
}

func worker(role string) workers.Command {
	self, _ := os.Executable()
	return workers.Command{Path: self, Args: []string{role}}
}

func start(t *testing.T, command workers.Command) *workers.Process {
	t.Helper()
	p, err := workers.Start(command)
	require.NoError(t, err)
	t.Cleanup(func() {
		p.Kill()
		<-p.Done()
	})
	return p
}

func awaitExit(t *testing.T, p *workers.Process) {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(soon):
		require.Fail(t, "the worker does not exit")
	}
	require.ErrorIs(t, syscall.Kill(p.PID(), 0), syscall.ESRCH, "a zombie remains")
}

func TestAWorkerAnswersUntilItsInputIsClosed(t *testing.T) {
	p := start(t, worker("echo"))
	for i := range 100 {
		frame := workers.Frame{Kind: 'x', Stream: uint32(i), Payload: fmt.Append(nil, i)}
		require.NoError(t, p.In.Write(frame))
		got, err := p.Out.Read()
		require.NoError(t, err)
		require.Equal(t, frame, got)
	}

	p.CloseInput()
	p.CloseInput()
	_, err := p.Out.Read()
	require.Equal(t, io.EOF, err)
	awaitExit(t, p)
	require.NoError(t, p.Err())
	_, err = p.Out.Read()
	require.Error(t, err)
}

func TestAWorkerThatFails(t *testing.T) {
	p := start(t, worker("fails"))
	_, err := p.Out.Read()
	require.Equal(t, io.EOF, err)
	awaitExit(t, p)
	require.EqualError(t, p.Err(), "exit status 3")
	require.Error(t, p.In.Write(workers.Frame{}))
}

func TestOutputOfAWorkerIsCountedAndNeverQuoted(t *testing.T) {
	var log testlog.Buffer
	command := worker("fails")
	command.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	awaitExit(t, start(t, command))
	require.Contains(t, log.String(), "worker=fails lines=1 bytes=19", "all output is counted once the worker has exited")
	require.NotContains(t, log.String(), "something is wrong")

	var usual testlog.Buffer
	command.Logger = slog.New(slog.NewTextHandler(&usual, nil))
	awaitExit(t, start(t, command))
	require.Empty(t, usual.String(), "C libraries also print when nothing is wrong")
}

// If a library is missing, then the worker does not start, and only its output names the library.
func TestTheErrorNamesAMissingLibrary(t *testing.T) {
	command := worker("unloaded")
	command.Logger = slog.New(slog.DiscardHandler)
	p := start(t, command)
	awaitExit(t, p)
	require.ErrorContains(t, p.Err(), "exit status 127")
	require.ErrorContains(t, p.Err(), "error while loading shared libraries: libflite.so.1")
}

func TestAWorkerThatIsKilled(t *testing.T) {
	p := start(t, worker("stuck"))
	_, err := p.Out.Read()
	require.NoError(t, err)
	p.CloseInput()

	p.Kill()
	_, err = p.Out.Read()
	require.Equal(t, io.EOF, err)
	awaitExit(t, p)
	exit := new(exec.ExitError)
	require.ErrorAs(t, p.Err(), &exit)
	require.Equal(t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal())
	p.Kill() // no effect, even on a process that has reused the id
}

func TestAWorkerWithUnreadOutputLeavesNoZombie(t *testing.T) {
	p := start(t, worker("talks"))
	awaitExit(t, p)
	require.NoError(t, p.Err())

	// and its output can still be read
	for i := range talked {
		frame, err := p.Out.Read()
		require.NoError(t, err)
		require.EqualValues(t, i, frame.Stream)
	}
	_, err := p.Out.Read()
	require.Equal(t, io.EOF, err)
}

func TestATornFrame(t *testing.T) {
	p := start(t, worker("torn"))
	_, err := p.Out.Read()
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	awaitExit(t, p)
}

func TestAWorkerEndsWithItsParent(t *testing.T) {
	// given a worker whose parent is another process
	self := worker("parent")
	process := exec.Command(self.Path, self.Args...)
	output, err := process.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, process.Start())
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)

	// when the parent is killed
	require.NoError(t, process.Process.Kill())
	_ = process.Wait()

	// then the worker exits by itself
	require.Eventually(t, func() bool { return !runs(pid) }, soon, time.Millisecond)
}

// runs returns false for a zombie, since orphans may not be reaped immediately.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestAWorkerHasAProcessGroupOfItsOwn(t *testing.T) {
	p := start(t, worker("stuck"))
	group, err := syscall.Getpgid(p.PID())
	require.NoError(t, err)
	require.Equal(t, p.PID(), group)
}

func TestAnExitIsSeenDespiteAChildWithTheOutputOpen(t *testing.T) {
	held := filepath.Join(t.TempDir(), "child")
	script := "sleep 600 >/dev/null & echo $! >'" + held + "'; exit 0"
	awaitExit(t, start(t, workers.Command{
		Path: "/bin/sh", Args: []string{"-c", script}, Logger: slog.New(slog.DiscardHandler),
	}))
	written, err := os.ReadFile(held)
	require.NoError(t, err)
	child, err := strconv.Atoi(strings.TrimSpace(string(written)))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(child, syscall.SIGKILL))
}

func TestAProgramThatDoesNotExist(t *testing.T) {
	before := openFiles(t)
	for range 20 {
		_, err := workers.Start(workers.Command{Path: "./no-such-program"})
		require.ErrorIs(t, err, os.ErrNotExist)
	}
	require.LessOrEqual(t, openFiles(t), before+2, "no pipe stays open")
}

func TestAWorkerLeavesNoOpenFile(t *testing.T) {
	before := openFiles(t)
	all := make([]*workers.Process, 20)
	for i := range all {
		all[i] = start(t, worker("echo"))
		require.NoError(t, all[i].In.Write(workers.Frame{Kind: 1}))
		all[i].CloseInput()
	}
	for _, p := range all { // with the race detector each takes a second to end
		for {
			if _, err := p.Out.Read(); errors.Is(err, io.EOF) {
				break
			}
		}
		awaitExit(t, p)
	}
	require.LessOrEqual(t, openFiles(t), before+2)
}

func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(files)
}
