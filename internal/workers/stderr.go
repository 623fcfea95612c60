package workers

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
)

// stderr receives a worker's standard error. C libraries print to it, and may quote client data, so it is counted and
// never shown.
type stderr struct {
	logger *slog.Logger
	worker string
}

func newStderr(command Command) *stderr {
	return &stderr{logger: command.Logger, worker: strings.Join(command.Args, " ")}
}

func (s *stderr) Write(p []byte) (int, error) {
	s.logger.LogAttrs(context.Background(), slog.LevelDebug, "a worker printed to standard error",
		slog.String("worker", s.worker), slog.Int("lines", bytes.Count(p, []byte("\n"))), slog.Int("bytes", len(p)))
	return len(p), nil
}
