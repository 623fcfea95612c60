package postgres

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOutputOfTheServerIsLoggedBySeverity(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*lineLimit)
	cases := map[string]struct {
		says, level, last string
	}{
		"ordinary life": {"LOG:  database system is ready\n", "level=DEBUG", "LOG:  database system is ready"},
		"refused client": {"FATAL:  the database system is starting up\n", "level=DEBUG",
			"FATAL:  the database system is starting up"},
		"lost backend": {"LOG:  server process (PID 7) was terminated by signal 9: Killed\n", "level=WARN",
			"LOG:  server process (PID 7) was terminated by signal 9: Killed"},
		"broken":            {"PANIC:  could not write\n", "level=ERROR", "PANIC:  could not write"},
		"unfinished line":   {"PANIC:  cut", "level=ERROR", "PANIC:  cut"},
		"line without end":  {long + "\nPANIC:  next\n", "level=ERROR", "PANIC:  next"},
		"more than is kept": {strings.Repeat("LOG:  again\n", 1000), "level=DEBUG", "LOG:  again"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			last := &tail{}
			(&relay{logger}).run(strings.NewReader(c.says), last)

			require.Contains(t, log.String(), c.level)
			require.True(t, strings.HasSuffix(last.String(), c.last))
			require.LessOrEqual(t, len(last.String()), tailLines*(lineLimit+2))
			require.NotContains(t, last.String(), strings.Repeat("x", lineLimit+1))
		})
	}
}
