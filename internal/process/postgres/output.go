package postgres

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
)

const (
	lineLimit = 4096 // bytes of one line; longer ones are truncated
	tailLines = 8
)

// relay writes the server's output to the log. Unlike the output of workers it is quoted: Settings exclude the texts
// and the details of statements, which may contain client data (log_min_messages, log_min_error_statement,
// log_error_verbosity).
type relay struct{ logger *slog.Logger }

// run reads to the end of the output, whatever happens to a single line.
func (r *relay) run(output io.Reader, last *tail) {
	reader := bufio.NewReaderSize(output, lineLimit)
	cut := false // skipping the rest of a long line
	for {
		line, err := reader.ReadSlice('\n')
		if text := strings.TrimSpace(string(line)); text != "" && !cut {
			last.add(text)
			r.logger.Log(context.Background(), level(text), "postgres says", "line", text)
		}
		cut = errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !cut {
			return
		}
	}
}

// level hides the server's routine messages (starting, stopping, refused while starting).
func level(line string) slog.Level {
	switch {
	case strings.HasPrefix(line, "PANIC:"):
		return slog.LevelError
	case strings.HasPrefix(line, "WARNING:"), strings.Contains(line, "was terminated by signal"):
		return slog.LevelWarn
	default:
		return slog.LevelDebug
	}
}

// tail keeps the last lines for the error of a failed start.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
	if len(t.lines) > tailLines {
		t.lines = t.lines[1:]
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "; ")
}
