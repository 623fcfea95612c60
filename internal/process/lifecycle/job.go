package lifecycle

import (
	"context"
	"log/slog"
	"time"
)

// Job is work that is repeated, at once and then at intervals. A failure is logged, and the next interval is the next
// attempt.
type Job struct {
	Name   string // such as "the sweep of clips"
	Every  time.Duration
	After  <-chan struct{} // the first run is when it is closed; nil means at once
	Do     func(ctx context.Context) error
	Logger *slog.Logger
}

// Part returns the job as a part of a group.
func (j Job) Part() Part { return Background(j.Name, j.run) }

// run returns nil when ctx ends.
func (j Job) run(ctx context.Context) error {
	if !j.awaitStart(ctx) {
		return nil
	}
	ticker := time.NewTicker(j.Every)
	defer ticker.Stop()
	for {
		if err := j.Do(ctx); err != nil && ctx.Err() == nil {
			j.Logger.WarnContext(ctx, "a job failed", "job", j.Name, "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// awaitStart reports whether the job may begin; it may not once ctx has ended.
func (j Job) awaitStart(ctx context.Context) bool {
	if j.After == nil {
		return true
	}
	select {
	case <-j.After:
		return true
	case <-ctx.Done():
		return false
	}
}
