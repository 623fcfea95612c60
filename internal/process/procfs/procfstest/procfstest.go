// Package procfstest stops processes for tests.
package procfstest

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/procfs"
)

// Stop stops processes by SIGSTOP, and returns when all of their threads have stopped. Processes that have ended are
// ignored.
func Stop(tb testing.TB, pids ...int) {
	tb.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			require.ErrorIs(tb, err, syscall.ESRCH)
			continue
		}
		ended := func() bool { return syscall.Kill(pid, 0) != nil }
		require.Eventually(tb, func() bool { return procfs.Stopped(pid) || ended() }, time.Minute, time.Millisecond)
	}
}
