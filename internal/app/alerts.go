package app

import (
	"context"
	"time"

	commands "github.com/recital-tts/recital/commands/alerts"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/feed"
	"github.com/recital-tts/recital/internal/lifecycle"
)

// projectionSource precedes the name of a projection in the source of an alert.
const projectionSource = "projection/"

// alertsSlice is that of what a person should look at. Its commands are a part that the projections rest on, so they are
// opened before the slices.
func alertsSlice() slice { return slice{name: "alerts", events: commands.Events()} }

func (a *App) openAlerts(context.Context) error {
	a.alerts = commands.New(a.journal, a.log, a.metrics.observeAlert)
	a.alertQueue = commands.NewQueue(a.alerts)
	a.running.Add(lifecycle.Background("the queue of alerts", a.alertQueue.Run))
	for _, p := range ReadModels() {
		a.metrics.expectAlert(projectionSource+p.Name, alert.Stopped)
	}
	return nil
}

// projectionAlert raises the alert of a projection, which must not wait for the log.
func (a *App) projectionAlert(f feed.Alert) {
	a.alertQueue.Raise(commands.Occasion{
		Source: projectionSource + f.Generation.Name, Subject: f.Subject(), Reason: f.Reason, Cause: f.Event,
		Detail: f.Detail, At: time.Now(),
	})
}
