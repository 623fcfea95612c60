// Package confine restricts the calling process for work on untrusted data: it loses access to new files, connections
// and programs, and has limited memory and time. It needs no privileges.
package confine

import (
	"errors"
	"fmt"
	"os"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"golang.org/x/sys/unix"
)

// Limits are the limits of a confined process. Allocations beyond Memory fail. After its processor time it gets
// SIGXCPU, and 2 s later SIGKILL.
type Limits struct {
	Memory     uint64 // bytes of private writable memory
	CPUSeconds uint64
}

// Process confines the calling process with all of its threads permanently: it can read, write and map memory, but it
// cannot open files or connections, and cannot start or signal other processes. It returns an error if any of these
// restrictions failed.
func Process(limits Limits) error {
	return errors.Join(prepareRuntime(), limit(limits), deny())
}

// Memory limits the private writable memory of the calling process, and of each process that it starts, in bytes. It
// adds no other restrictions.
func Memory(bytes uint64) error {
	for _, l := range []struct {
		resource int
		value    uint64
	}{{unix.RLIMIT_DATA, bytes}, {unix.RLIMIT_CORE, 0}} {
		if err := unix.Setrlimit(l.resource, &unix.Rlimit{Cur: l.value, Max: l.value}); err != nil {
			return fmt.Errorf("limiting memory: %w", err)
		}
	}
	return nil
}

// prepareRuntime makes the Go runtime open the files that it needs to wait for a timer, which its garbage collector may
// set. It would otherwise do so at the first use, and exit if it fails.
func prepareRuntime() error {
	in, out, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("preparing the runtime: %w", err)
	}
	return errors.Join(in.Close(), out.Close())
}

// limit sets resource limits, which are effective even without deny: without free descriptors, no file, socket or pipe
// can be opened.
func limit(limits Limits) error {
	var errs []error
	for _, l := range []struct {
		name     string
		resource int
		value    uint64
		grace    uint64
	}{
		{"core dumps", unix.RLIMIT_CORE, 0, 0},
		{"new descriptors", unix.RLIMIT_NOFILE, 0, 0},
		{"writing to files", unix.RLIMIT_FSIZE, 0, 0},
		{"memory", unix.RLIMIT_DATA, limits.Memory, 0},
		{"processor time", unix.RLIMIT_CPU, limits.CPUSeconds, 2},
	} {
		if err := unix.Setrlimit(l.resource, &unix.Rlimit{Cur: l.value, Max: l.value + l.grace}); err != nil {
			errs = append(errs, fmt.Errorf("limiting %s: %w", l.name, err))
		}
	}
	return errors.Join(errs...)
}

// deny permits the system calls of the Go runtime and of the C library's memory and threads. All others fail with
// EPERM.
func deny() error {
	err := seccomp.LoadFilter(seccomp.Filter{
		NoNewPrivs: true,
		Flag:       seccomp.FilterFlagTSync,
		Policy: seccomp.Policy{
			DefaultAction: seccomp.ActionErrno,
			Syscalls: []seccomp.SyscallGroup{
				// The flags of clone3 are invisible to a filter. The C library falls back to clone.
				{Names: []string{"clone3"}, Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS)},
				{Action: seccomp.ActionAllow, NamesWithCondtions: []seccomp.NameWithConditions{
					on("clone", seccomp.BitsSet, unix.CLONE_THREAD), // threads, and no processes
					on("tgkill", seccomp.Equal, uint64(unix.Getpid())),
				}},
				{Action: seccomp.ActionAllow, Names: []string{
					"read", "write", "readv", "writev", "close", "lseek", "fstat",
					"mmap", "munmap", "mprotect", "mremap", "madvise", "brk",
					"epoll_ctl", "epoll_pwait", "futex", "nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres",
					"gettimeofday", "sched_yield",
					"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall",
					"getpid", "gettid", "sched_getaffinity", "getrandom",
					"set_robust_list", "rseq", "exit", "exit_group",
				}},
			},
		},
	})
	if err != nil {
		return fmt.Errorf("giving up system calls: %w", err)
	}
	return nil
}

// on returns a condition on the first argument of a system call.
func on(name string, operation seccomp.Operation, value uint64) seccomp.NameWithConditions {
	condition := seccomp.Condition{Argument: 0, Operation: operation, Value: value}
	return seccomp.NameWithConditions{Name: name, Conditions: seccomp.ArgumentConditions{condition}}
}
