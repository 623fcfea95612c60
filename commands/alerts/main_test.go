package alerts_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/commands/alerts"
	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain/alert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a log, and the logs and counts of instances.
type world struct {
	*commandstest.World

	mu     sync.Mutex
	logged bytes.Buffer
	counts map[string]int // by source and reason
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return &world{World: commandstest.New(t), counts: map[string]int{}}
}

// Write collects the output of the logger.
func (w *world) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.logged.Write(line)
}

// instance returns the alerts of one instance.
func (w *world) instance() *alerts.Alerts {
	return alerts.New(w.Journal, slog.New(slog.NewTextHandler(w, nil)), func(source string, reason alert.Reason) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.counts[source+" "+string(reason)]++
	})
}

// lines returns the log lines that contain a text.
func (w *world) lines(text string) (lines []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for line := range strings.Lines(w.logged.String()) {
		if strings.Contains(line, text) {
			lines = append(lines, line)
		}
	}
	return lines
}

func (w *world) counted(what string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts[what]
}

// raised returns the alerts in the log.
func (w *world) raised() (raised []alert.Raised) {
	w.T.Helper()
	for _, event := range commandstest.Fold[alert.Event](w.World, "alerts") {
		if one, is := event.(alert.Raised); is {
			raised = append(raised, one)
		}
	}
	return raised
}

// awaitSubjects waits until the log holds alerts of subjects, each once and in order.
func (w *world) awaitSubjects(want ...string) {
	w.T.Helper()
	subjects := func() (subjects []string) {
		for _, raised := range w.raised() {
			subjects = append(subjects, raised.Subject)
		}
		return subjects
	}
	require.Eventually(w.T, func() bool { return len(subjects()) >= len(want) }, patience, tick)
	require.Equal(w.T, want, subjects())
}
