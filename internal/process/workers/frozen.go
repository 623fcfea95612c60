package workers

import (
	"log/slog"
	"slices"
	"time"

	"github.com/recital-tts/recital/internal/process/procfs"
)

// watchInterval is the time between two looks at a worker. One that is found stopped twice in a row is killed.
const watchInterval = time.Second

// watch kills the worker when it, or a child of its own, has been stopped (SIGSTOP): it would neither answer nor exit.
// A worker that is only slow is never in that state.
func (p *Process) watch(logger *slog.Logger) {
	looks := time.NewTicker(watchInterval)
	defer looks.Stop()
	for before := false; ; {
		select {
		case <-looks.C:
		case <-p.done:
			return
		}
		stopped := procfs.Stopped(p.PID()) || slices.ContainsFunc(procfs.Children(p.PID()), procfs.Stopped)
		if stopped && before {
			if logger != nil {
				logger.Warn("a worker was stopped by a signal and is killed", "pid", p.PID())
			}
			p.Kill()
			return
		}
		before = stopped
	}
}
