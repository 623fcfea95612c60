package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// process is a process that recitald started. The start time distinguishes it from a later process with the same id.
type process struct {
	pid, parent int
	started     string // in clock ticks since the boot of the machine
	args        []string
}

// readProcess reads /proc/<pid>; a process that is gone, or only waits to be reaped, is not found.
func readProcess(pid int) (process, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, false
	}
	//proc(5): the name in parentheses may contain anything, the fields after it are numbered from 3.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return process{}, false
	}
	parent, _ := strconv.Atoi(fields[1])
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	args := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
	return process{pid: pid, parent: parent, started: fields[19], args: args}, true
}

func (p process) lives() bool {
	now, found := readProcess(p.pid)
	return found && now.started == p.started
}

func (p process) kill(t *testing.T) {
	t.Helper()
	if p.lives() {
		require.NoError(t, syscall.Kill(p.pid, syscall.SIGKILL))
	}
}

// children returns the processes that recitald started: Postgres and the speech workers.
func (s *server) children() []process {
	s.t.Helper()
	folders, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(s.t, err)
	var children []process
	for _, folder := range folders {
		pid, _ := strconv.Atoi(filepath.Base(folder))
		if p, found := readProcess(pid); found && p.parent == s.command.Process.Pid {
			children = append(children, p)
		}
	}
	return children
}

// workers returns the speech workers of a mode: "engine" or "codec".
func (s *server) workers(mode string) []process {
	s.t.Helper()
	return slices.DeleteFunc(s.children(), func(p process) bool {
		return filepath.Base(p.args[0]) != "speechworker" || !slices.Contains(p.args, mode)
	})
}

// postmaster returns the main process of the private Postgres.
func (s *server) postmaster() process {
	s.t.Helper()
	first, _, _ := strings.Cut(read(s.t, filepath.Join(s.data, "postgres", "data", "postmaster.pid")), "\n")
	pid, err := strconv.Atoi(first)
	require.NoError(s.t, err)
	p, found := readProcess(pid)
	require.True(s.t, found, "no Postgres runs")
	return p
}
