package app

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/internal/events/changes"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/process/lifecycle"
	readapi "github.com/recital-tts/recital/readapi/changes"
)

// changesSlice returns the slice that tells clients what has changed. The watch for revocations gives it the events.
func changesSlice(core *coreParts, shared *sharedParts) slice {
	return slice{
		name: "changes",
		open: func() (service, error) {
			notifier := changes.New(changes.Config{
				Wait:    core.awaitShown,
				Streams: core.cfg.EventStreams, AccountStreams: core.cfg.AccountEventStreams,
			})
			shared.changes = notifier
			core.running.Add(lifecycle.Background("telling changes", notifier.Run))
			read := readapi.API{Changes: notifier}
			return service{public: read.Routes(), collectors: []prometheus.Collector{
				gaugeFunc("recital_event_streams", "Open streams of GET /v1/account/events.", notifier.Open),
			}}, nil
		},
	}
}

// awaitShown waits until the read models of accounts show a position. One that stands still is not waited for: an alert
// is open, and what the others show is told.
func (c *coreParts) awaitShown(ctx context.Context, position eventlog.Position) error {
	err := c.projector.Wait(ctx, position, readmodel.Account, readmodel.Billing, readmodel.Clips, readmodel.Sessions,
		readmodel.Usage, readmodel.UsageByKey, readmodel.Voices)
	if errors.Is(err, feed.ErrStopped) {
		return nil
	}
	return err
}
