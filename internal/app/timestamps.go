package app

import (
	"context"
	"time"

	"github.com/recital-tts/recital/internal/web"
	"github.com/recital-tts/recital/readapi/synthesis"
)

// timestampsSweepEvery is how often word times are erased whose time is over, beside once at the start.
const timestampsSweepEvery = 30 * time.Second

func (a *App) timestampRoutes() []web.Route {
	read := synthesis.API{Shelf: a.wordTimes, Links: a.links(), LongestReply: a.cfg.longestReservation(), Now: time.Now}
	return read.Routes()
}

// startTimestampsSweep keeps the promise that word times go after ten minutes, also those of an instance that crashed.
func (a *App) startTimestampsSweep(context.Context) error {
	a.background("the sweep of word times", func(ctx context.Context) error {
		ticker := time.NewTicker(timestampsSweepEvery)
		defer ticker.Stop()
		for {
			if _, err := a.wordTimes.Sweep(ctx); err != nil && ctx.Err() == nil {
				a.log.WarnContext(ctx, "the sweep of word times failed", "error", err)
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return nil
			}
		}
	})
	return nil
}
