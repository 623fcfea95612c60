package confine_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/recital-tts/recital/internal/process/confine"
)

const memory = 256 << 20

// asConfined as the first argument makes this test binary a confined process that tries the action named by the second.
const asConfined = "try-confined"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == asConfined {
		os.Exit(try(os.Args[2]))
	}
	os.Exit(m.Run())
}

// forbidden returns actions that a confined process must not be able to perform.
func forbidden() map[string]func() error {
	return map[string]func() error{
		"open a file":       func() error { _, err := os.Open("/etc/passwd"); return err },
		"create a file":     func() error { _, err := os.Create("confined.txt"); return err },
		"make a folder":     func() error { return os.Mkdir("confined", 0o700) },
		"remove a file":     func() error { return os.Remove("confined.txt") },
		"look at a file":    func() error { _, err := os.Stat("/etc/passwd"); return err },
		"dial":              func() error { _, err := net.Dial("tcp", "127.0.0.1:1"); return denied(err) },
		"listen":            func() error { _, err := net.Listen("tcp", "127.0.0.1:0"); return err },
		"open a pipe":       func() error { return unix.Pipe2(make([]int, 2), 0) },
		"start a program":   func() error { return exec.Command("/bin/true").Run() },
		"replace itself":    func() error { return unix.Exec("/bin/true", []string{"true"}, nil) },
		"fork":              func() error { return call(unix.SYS_CLONE, uintptr(unix.SIGCHLD)) },
		"fork in a new way": func() error { return call(unix.SYS_CLONE3, 0) },
		"signal its parent": func() error { return unix.Kill(os.Getppid(), 0) },
		"signal a thread":   func() error { return unix.Tgkill(os.Getppid(), os.Getppid(), 0) },
		"trace its parent":  func() error { return unix.PtraceAttach(os.Getppid()) },
		"raise its limits":  func() error { return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 100, Max: 100}) },
		"map too much": func() error {
			_, err := unix.Mmap(-1, 0, memory+1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
			return err
		},
		"a ring of requests": func() error { return call(unix.SYS_IO_URING_SETUP, 1) },
	}
}

func call(number uintptr, first uintptr) error {
	if _, _, errno := syscall.RawSyscall(number, first, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// denied returns nil if the other side refused the connection, since it was reached then.
func denied(err error) error {
	if errors.Is(err, unix.ECONNREFUSED) {
		return nil
	}
	return err
}

// try returns 0 if the action was refused, and 10 if not.
func try(what string) int {
	if err := confine.Process(confine.Limits{Memory: memory, CPUSeconds: 1}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	switch what {
	case "work":
		return work()
	case "spin":
		for n := 1; n > 0; n |= 1 {
			n++
		}
	}
	if err := forbidden()[what](); err == nil {
		return 10
	}
	return 0
}

// work does things that any Go program does: it starts threads, collects garbage and writes to open files.
func work() int {
	var threads sync.WaitGroup
	for range 4 {
		threads.Go(func() {
			runtime.LockOSThread() // the thread ends with the goroutine
			for range 50 {
				time.Sleep(time.Microsecond)
				_ = strings.Repeat("x", 1<<16)
			}
		})
	}
	threads.Wait()
	runtime.GC()
	fmt.Println("worked")
	return 0
}

func confined(what string) *exec.Cmd { return exec.Command(os.Args[0], asConfined, what) }

func TestAConfinedProcessCannotDoHarm(t *testing.T) {
	for name := range forbidden() {
		t.Run(name, func(t *testing.T) {
			output, err := confined(name).CombinedOutput()
			require.NoError(t, err, "%s", output)
		})
	}
}

// Without confinement each of these actions succeeds; otherwise the test above would prove nothing.
func TestAnUnconfinedProcessCan(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{
		"open a file", "create a file", "make a folder", "remove a file", "look at a file", "dial", "listen",
		"open a pipe", "start a program", "map too much", "signal its parent", "signal a thread",
	} {
		if name == "remove a file" {
			require.NoError(t, os.WriteFile("confined.txt", nil, 0o600))
		}
		require.NoError(t, forbidden()[name](), name)
	}
}

func TestAConfinedProcessWorks(t *testing.T) {
	output, err := confined("work").CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.Equal(t, "worked\n", string(output))
}

func TestAConfinedProcessEndsAtItsCPULimit(t *testing.T) {
	var exit *exec.ExitError
	require.ErrorAs(t, confined("spin").Run(), &exit)
	require.True(t, exit.Sys().(syscall.WaitStatus).Signaled(), "%v", exit)
}
