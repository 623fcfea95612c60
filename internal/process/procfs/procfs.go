// Package procfs reads what Linux shows of other processes in /proc (proc(5)).
package procfs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Stopped reports whether a process has been stopped by a signal (the state T): it does nothing until it is continued.
func Stopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	name := bytes.LastIndexByte(stat, ')') // it may contain anything
	return name >= 0 && bytes.HasPrefix(stat[name:], []byte(") T "))
}

// Children returns the children of a process, and none where the kernel does not list them.
func Children(pid int) (children []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is well-formed
	for _, list := range lists {
		content, _ := os.ReadFile(list) // the thread may have ended
		for field := range strings.FieldsSeq(string(content)) {
			if child, err := strconv.Atoi(field); err == nil {
				children = append(children, child)
			}
		}
	}
	return children
}
