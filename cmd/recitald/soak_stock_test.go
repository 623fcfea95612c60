package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
)

// stock is the resources in use by a recitald.
type stock struct {
	workers     []string // their modes
	goroutines  int
	descriptors int
	memory      int // bytes of stacks, and of the heap after the last collection
}

func (s stock) String() string {
	return fmt.Sprintf("%d workers, %d goroutines, %d descriptors, %d MiB of heap and stacks", len(s.workers),
		s.goroutines, s.descriptors, s.memory>>20)
}

func (s *soak) takeStock() (now stock) {
	s.t.Helper()
	for _, w := range s.server.speechWorkers() {
		now.workers = append(now.workers, w.args[len(w.args)-1])
	}
	slices.Sort(now.workers)
	descriptors, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.server.command.Process.Pid))
	require.NoError(s.t, err)
	now.goroutines, now.descriptors = int(s.server.figure("go_goroutines")), len(descriptors)
	// The next collection happens when the heap has grown by gogc per cent.
	left := s.server.figure("go_memstats_next_gc_bytes") / (1 + s.server.figure("go_gc_gogc_percent")/100)
	now.memory = int(left + s.server.figure("go_memstats_stack_inuse_bytes"))
	return now
}

// These resources may remain in use for a while: idle goroutines of the HTTP server, and connections to Postgres.
const (
	idleGoroutines  = soakClients + 8
	idleDescriptors = 20
)

// growth returns the permitted growth of memory in bytes: the event node's tables and cache fill with the log, up to
// 96 MiB.
func growth(requests int) int { return 8<<20 + requests*4<<10 }

// requireSameStock waits until the resources in use are those before a number of requests, apart from permitted growth.
func (s *soak) requireSameStock(before stock, requests int) {
	s.t.Helper()
	s.server.eventually(func() bool { return slices.Equal(before.workers, s.takeStock().workers) })
	s.server.eventually(func() bool { return s.takeStock().goroutines <= before.goroutines+idleGoroutines })
	s.server.eventually(func() bool { return s.takeStock().descriptors <= before.descriptors+idleDescriptors })
	s.server.eventually(func() bool { return len(s.remains()) == 0 })
	s.awaitCollections(2)
	after := s.takeStock()
	s.t.Logf("before: %s\nafter: %s", before, after)
	require.LessOrEqual(s.t, after.memory, before.memory+growth(requests), "bytes of heap and stacks")
}

// awaitCollections waits for n garbage collections. Scraping the metrics allocates, so they happen.
func (s *soak) awaitCollections(n float64) {
	s.t.Helper()
	until := s.server.figure("go_gc_duration_seconds_count") + n
	s.server.eventually(func() bool { return s.server.figure("go_gc_duration_seconds_count") >= until })
}

// remains returns processes that should have ended: zombies, and children of killed workers.
func (s *soak) remains() (left []string) {
	s.t.Helper()
	parents := []int{s.server.command.Process.Pid}
	for _, w := range s.server.speechWorkers() {
		parents = append(parents, w.pid)
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(s.t, err)
	for _, path := range stats {
		stat, _ := os.ReadFile(path) // empty if the process has exited
		//proc_pid_stat(5): the name in parentheses may contain anything; then come state, parent and process group.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) < 3 {
			continue
		}
		parent, _ := strconv.Atoi(fields[1])
		group, _ := strconv.Atoi(fields[2])
		zombie := fields[0] == "Z" && slices.Contains(parents, parent)
		killed := slices.ContainsFunc(s.killed, func(p process) bool { return p.pid == group })
		orphan := fields[0] != "Z" && killed && !slices.Contains(parents, group)
		if zombie || orphan {
			left = append(left, string(stat))
		}
	}
	return left
}

// speechWorkers returns the workers of all modes.
func (s *server) speechWorkers() []process {
	s.t.Helper()
	return s.childrenOfProgram("speechworker")
}

// neuralWorkers returns the processes of installed voices.
func (s *server) neuralWorkers() []process {
	s.t.Helper()
	return s.childrenOfProgram("neuralworker")
}

func (s *server) childrenOfProgram(name string) []process {
	s.t.Helper()
	return slices.DeleteFunc(s.children(), func(p process) bool { return filepath.Base(p.args[0]) != name })
}

func childrenOf(pid int) (children []process) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		pids, _ := os.ReadFile(list) // empty if the thread has ended
		for field := range strings.FieldsSeq(string(pids)) {
			child, _ := strconv.Atoi(field)
			if p, found := readProcess(child); found {
				children = append(children, p)
			}
		}
	}
	return children
}

// figure returns a metric's value, summed over its labels.
func (s *server) figure(name string) (sum float64) {
	s.t.Helper()
	found := false
	for line := range strings.Lines(s.metrics()) {
		metric, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if plain, _, _ := strings.Cut(metric, "{"); plain != name {
			continue
		}
		n, err := strconv.ParseFloat(value[strings.LastIndexByte(value, ' ')+1:], 64)
		require.NoError(s.t, err)
		sum, found = sum+n, true
	}
	require.True(s.t, found, "there is no metric %s", name)
	return sum
}
