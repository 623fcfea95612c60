package app

import (
	"context"
	"time"

	commands "github.com/recital-tts/recital/commands/skips"
	"github.com/recital-tts/recital/internal/process/lifecycle"
	writeapi "github.com/recital-tts/recital/writeapi/skips"
)

// skipsSlice returns the slice of skipped events. Whatever decodes events needs its commands, so they are opened with
// the log.
func skipsSlice(core *coreParts, shared *sharedParts) slice {
	return slice{
		name:   "skips",
		events: commands.Events(),
		open: func() (service, error) {
			write := writeapi.API{Skips: shared.skips, Generations: core.projector}
			return service{admin: write.AdminRoutes()}, nil
		},
	}
}

// openSkips reads which events are skipped, before any is decoded.
func (a *App) openSkips(ctx context.Context) (err error) {
	a.skips, err = commands.Open(ctx, a.journal, a.log, time.Now)
	if err != nil {
		return err
	}
	a.running.Add(lifecycle.Background("the skipped events", a.skips.Follow))
	return nil
}
