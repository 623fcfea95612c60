package app_test

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/procfs"
)

// busy returns the processor time of this process during do.
func busy(b *testing.B, do func()) time.Duration {
	b.Helper()
	taken := func() time.Duration {
		var usage syscall.Rusage
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
		return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	before := taken()
	do()
	return taken() - before
}

// busyWithPostgres returns the processor time of this process and of the server of a pool during do, in µs.
func busyWithPostgres(b *testing.B, pool *pgxpool.Pool, do func()) float64 {
	b.Helper()
	var server int
	require.NoError(b, pool.QueryRow(b.Context(), "select pg_backend_pid()").Scan(&server))
	server = parent(b, server)
	before := treeTime(b, server)
	here := busy(b, do)
	there := treeTime(b, server) - before
	b.Logf("here %v, in Postgres %v", here, there)
	return float64((here + there).Microseconds())
}

// parent returns the parent of a process.
func parent(b *testing.B, pid int) int {
	b.Helper()
	id, err := strconv.Atoi(statOf(b, pid)[1])
	require.NoError(b, err)
	return id
}

// treeTime returns the processor time of a process, its children, and those that have ended.
func treeTime(b *testing.B, pid int) (total time.Duration) {
	b.Helper()
	for _, one := range append(procfs.Children(pid), pid) {
		for _, field := range statOf(b, one)[11:15] { // utime, stime, cutime, cstime
			ticks, err := strconv.Atoi(field)
			require.NoError(b, err)
			total += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return total
}

// statOf returns the fields of /proc/<pid>/stat after the name, from the state on.
func statOf(b *testing.B, pid int) (fields []string) {
	b.Helper()
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(b, err)
	for _, field := range bytes.Fields(content[bytes.LastIndexByte(content, ')')+1:]) {
		fields = append(fields, string(field))
	}
	return fields
}
