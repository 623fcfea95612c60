package espeak

/*
#cgo pkg-config: espeak-ng
#cgo CFLAGS: -O2 -Wall -Wextra
#include <stdlib.h>
#include "runner.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// exitOffset is added to exit codes by runner_wait, to distinguish them from signals.
const exitOffset = 1000

// open loads espeak-ng and returns its sample rate in Hz.
func open() (int, error) {
	voice := C.CString(languageFiles["en-us"])
	defer C.free(unsafe.Pointer(voice))
	rate := C.runner_open(voice)
	if rate < 0 {
		return 0, errors.New("loading espeak-ng: is the package espeak-ng-data installed?")
	}
	return int(rate), nil
}

// child is a copy of this process that runs one job.
type child struct {
	pid  C.pid_t
	jobs *os.File
}

func fork(out *os.File) (*child, error) {
	var jobs C.int
	pid, err := C.runner_fork(C.int(out.Fd()), &jobs)
	if pid < 0 {
		return nil, fmt.Errorf("forking for a job: %w", err)
	}
	return &child{pid: pid, jobs: os.NewFile(uintptr(jobs), "jobs")}, nil
}

// give sends the child its job.
func (c *child) give(o order) error {
	_, err := c.jobs.Write(o.encode())
	if err := errors.Join(err, c.jobs.Close()); err != nil {
		return fmt.Errorf("handing a job over: %w", err)
	}
	return nil
}

// dismiss closes the child's input and waits for its exit, after the answer to its job if it has one.
func (c *child) dismiss() error {
	if c == nil {
		return nil
	}
	_ = c.jobs.Close() // again, if it had a job
	status := int(C.runner_wait(c.pid))
	switch {
	case status == 0:
		return nil
	case status < 0:
		return errors.New("the job's process is lost")
	case status >= exitOffset:
		return fmt.Errorf("the job's process gave up with code %d", status-exitOffset)
	default:
		return fmt.Errorf("the job's process died: %s", syscall.Signal(status))
	}
}

// dataFolder returns the folder of espeak-ng's data.
func dataFolder() string { return C.GoString(C.runner_data()) }
