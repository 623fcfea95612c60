// Package procfs reads the state of other processes from /proc (proc(5)).
package procfs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Stopped reports whether a signal has stopped all threads of a process (state T), which do not stop at the same time.
// Listing them is the most expensive part, so the first one is checked before.
func Stopped(pid int) bool {
	if !stopped(fmt.Sprintf("/proc/%d/stat", pid)) {
		return false
	}
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // the pattern is well-formed
	return len(threads) > 0 && !slices.ContainsFunc(threads, func(thread string) bool { return !stopped(thread) })
}

func stopped(stat string) bool {
	content, _ := os.ReadFile(stat)           // empty if the thread has ended
	name := bytes.LastIndexByte(content, ')') // it may contain anything
	return name >= 0 && bytes.HasPrefix(content[name:], []byte(") T "))
}

// Children returns the children of a process, or none if the kernel does not list them.
func Children(pid int) (children []int) {
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid)) // empty if it has ended, and so may its threads
	for _, thread := range threads {
		content, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, thread.Name()))
		for field := range strings.FieldsSeq(string(content)) {
			if child, err := strconv.Atoi(field); err == nil {
				children = append(children, child)
			}
		}
	}
	return children
}
