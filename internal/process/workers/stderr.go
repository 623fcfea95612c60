package workers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"strings"
)

// stderr receives a worker's standard error. C libraries print to it, and may quote client data, so it is counted and
// never shown, unless the worker could not be loaded: then it has read nothing yet.
type stderr struct {
	logger *slog.Logger
	worker string
	first  []byte // at most firstPrinted bytes
}

const (
	firstPrinted = 300
	// NotLoaded is the exit status of a worker that lacks a library, as of a program that the dynamic loader gives up
	// (ld.so(8)).
	NotLoaded = 127
)

func newStderr(command Command) *stderr {
	return &stderr{logger: command.Logger, worker: strings.Join(command.Args, " ")}
}

func (s *stderr) Write(p []byte) (int, error) {
	s.first = append(s.first, p[:min(len(p), firstPrinted-len(s.first))]...)
	s.logger.LogAttrs(context.Background(), slog.LevelDebug, "a worker printed to standard error",
		slog.String("worker", s.worker), slog.Int("lines", bytes.Count(p, []byte("\n"))), slog.Int("bytes", len(p)))
	return len(p), nil
}

// explain adds to the error of an exit what a worker has printed that could not be loaded.
func (s *stderr) explain(err error) error {
	var exit *exec.ExitError
	if s == nil || !errors.As(err, &exit) || exit.ExitCode() != NotLoaded {
		return err
	}
	line, _, _ := strings.Cut(string(s.first), "\n")
	return fmt.Errorf("%w: %q", err, line)
}
