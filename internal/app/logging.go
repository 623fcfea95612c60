package app

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
)

func newLogger(cfg Config, out io.Writer) *slog.Logger {
	var level slog.Level
	if level.UnmarshalText([]byte(cfg.LogLevel)) != nil {
		level = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: level}
	if cfg.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(out, options))
	}
	return slog.New(slog.NewTextHandler(out, options))
}

// workerLog takes what a worker's C libraries print. They may quote text, so only that they printed is logged.
func workerLog(log *slog.Logger, mode string) io.Writer {
	return &quietLog{log: log, mode: mode}
}

type quietLog struct {
	log  *slog.Logger
	mode string
}

func (q *quietLog) Write(p []byte) (int, error) {
	lines := 0
	for scanner := bufio.NewScanner(bytes.NewReader(p)); scanner.Scan(); {
		lines++
	}
	q.log.Debug("a worker printed to standard error", "mode", q.mode, "lines", lines)
	return len(p), nil
}
