package worker

import (
	"bytes"
	"log/slog"
	"sync"
)

const maxLogLine = 500

// lineLogger logs the standard error of the processes line by line. What they write never quotes a job.
type lineLogger struct {
	logger *slog.Logger
	mu     sync.Mutex
}

func (l *lineLogger) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range bytes.Lines(p) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 {
			l.logger.Warn("speech engine process", "stderr", string(line[:min(len(line), maxLogLine)]))
		}
	}
	return len(p), nil
}
