package worker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is the time limit for events that should take milliseconds.
const patience = 2 * time.Minute

// childrenOf returns the live children of a process, from /proc.
func childrenOf(tb testing.TB, pid int) []int {
	tb.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	require.NoError(tb, err)
	var pids []int
	for _, list := range lists {
		data, _ := os.ReadFile(list) // a thread may have ended
		for field := range strings.FieldsSeq(string(data)) {
			child, err := strconv.Atoi(field)
			require.NoError(tb, err)
			pids = append(pids, child)
		}
	}
	return pids
}

// engineProcesses returns the pool's processes; only one pool may be open.
func engineProcesses(tb testing.TB) []int {
	tb.Helper()
	return childrenOf(tb, os.Getpid())
}

func signalAll(pids []int, signal syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, signal)
	}
}

// isAlive is false for a zombie, too: an orphan remains one until the machine's init reaps it.
func isAlive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func requireGone(tb testing.TB, pids []int) {
	tb.Helper()
	require.NotEmpty(tb, pids)
	for _, pid := range pids {
		require.Eventually(tb, func() bool { return !isAlive(pid) }, patience, time.Millisecond, "process %d", pid)
	}
}
