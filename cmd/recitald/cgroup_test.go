package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/bintest"
)

// memoryCgroup is a cgroup of the memory controller. The kernel kills processes when the group exceeds its limit. The
// files have different names in the two versions of cgroups(7).
type memoryCgroup struct {
	folder                       string
	limitFile, killFile, maxFile string
}

const ownCgroups = "/proc/self/cgroup"

// newMemoryCgroup creates a child of this process's cgroup.
func newMemoryCgroup(t *testing.T, limit int64) *memoryCgroup {
	t.Helper()
	g := &memoryCgroup{limitFile: "memory.max", killFile: "memory.events", maxFile: "memory.peak"}
	parent := "/sys/fs/cgroup"
	if own := regexp.MustCompile(`(?m)^\d+:memory:(.*)$`).FindStringSubmatch(read(t, ownCgroups)); own != nil {
		g = &memoryCgroup{limitFile: "memory.limit_in_bytes", killFile: "memory.oom_control",
			maxFile: "memory.max_usage_in_bytes"}
		parent = filepath.Join(parent, "memory", own[1])
	}
	g.folder = filepath.Join(parent, fmt.Sprintf("recital-test-%d", os.Getpid()))
	if err := os.Mkdir(g.folder, 0o755); err != nil {
		bintest.Missing(t, "making a cgroup: "+err.Error())
	}
	t.Cleanup(func() {
		require.Eventually(t, func() bool { return os.Remove(g.folder) == nil }, patience, pause,
			"its processes have not ended")
	})
	if err := os.WriteFile(g.path(g.limitFile), []byte(strconv.FormatInt(limit, 10)), 0); err != nil {
		bintest.Missing(t, "limiting the memory of a cgroup: "+err.Error())
	}
	return g
}

func (g *memoryCgroup) path(file string) string { return filepath.Join(g.folder, file) }

// contain makes a command start in the cgroup.
func (g *memoryCgroup) contain(command *exec.Cmd) {
	join := `echo $$ >"$1" && shift && exec "$@"`
	command.Args = append([]string{"sh", "-c", join, "sh", g.path("cgroup.procs"), command.Path}, command.Args[1:]...)
	command.Path = "/bin/sh"
}

// kills returns the number of processes killed because of the limit.
func (g *memoryCgroup) kills(t *testing.T) int {
	t.Helper()
	match := regexp.MustCompile(`(?m)^oom_kill (\d+)$`).FindStringSubmatch(read(t, g.path(g.killFile)))
	require.NotNil(t, match, "the kernel does not count kills")
	kills, err := strconv.Atoi(match[1])
	require.NoError(t, err)
	return kills
}

// most returns the peak memory of its processes in bytes, page cache included.
func (g *memoryCgroup) most(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(read(t, g.path(g.maxFile)))
}
