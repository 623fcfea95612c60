package main_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// memoryCgroup is the folder of a cgroup (version 1) of the memory controller, whose processes are killed when together they
// need more than its limit.
type memoryCgroup string

const ownCgroups = "/proc/thread-self/cgroup"

// newMemoryCgroup makes a cgroup below that of this process, or skips the test where that is not possible.
func newMemoryCgroup(t *testing.T, limit int64) memoryCgroup {
	t.Helper()
	own := regexp.MustCompile(`(?m)^\d+:memory:(.*)$`).FindStringSubmatch(read(t, ownCgroups))
	if own == nil {
		t.Skip("there is no memory controller of version 1")
	}
	g := memoryCgroup(filepath.Join("/sys/fs/cgroup/memory", own[1], fmt.Sprintf("recital-test-%d", os.Getpid())))
	if err := os.Mkdir(string(g), 0o755); err != nil {
		t.Skipf("a cgroup cannot be made: %v", err)
	}
	t.Cleanup(func() {
		require.Eventually(t, func() bool { return os.Remove(string(g)) == nil }, patience, pause, "its processes have not ended")
	})
	g.write(t, "memory.limit_in_bytes", strconv.FormatInt(limit, 10))
	return g
}

func (g memoryCgroup) write(t *testing.T, file, value string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(string(g), file), []byte(value), 0))
}

// run calls start with the thread in the cgroup; a process that it starts stays there. For "" it only calls start.
func (g memoryCgroup) run(start func() error) error {
	if g == "" {
		return start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	move := func(into string) error { return os.WriteFile(filepath.Join(into, "tasks"), []byte("0"), 0) }
	if err := move(string(g)); err != nil {
		return err
	}
	return errors.Join(start(), move(filepath.Dir(string(g))))
}

// kills returns how many processes were killed because of the limit.
func (g memoryCgroup) kills(t *testing.T) int {
	t.Helper()
	_, figure, found := strings.Cut(read(t, filepath.Join(string(g), "memory.oom_control")), "oom_kill ")
	require.True(t, found, "the kernel does not count kills")
	kills, err := strconv.Atoi(strings.TrimSpace(figure))
	require.NoError(t, err)
	return kills
}

// most returns the most memory that its processes had at once, in bytes, and what the kernel cached of their files.
func (g memoryCgroup) most(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(read(t, filepath.Join(string(g), "memory.max_usage_in_bytes")))
}
