package app

import (
	"context"
	"os"

	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/process/lifecycle"
)

// startProjections begins to feed the read models of all slices.
func (a *App) startProjections(context.Context) (err error) {
	a.projector, err = feed.NewProjector(feed.Config{
		Log: a.journal.Log, Registry: a.journal.Registry, Pool: a.pool, Identity: a.identity,
		Projections: ReadModels(),
		Instance:    a.instance(),
		Logger:      a.log,
		Alert:       a.projectionAlert,
		OnPage:      a.pageCommitted,
	})
	if err != nil {
		return err
	}
	a.skips.OnChange(a.projector.Attend)
	a.running.Add(lifecycle.Background("the projections", a.withDatabase(a.projector.Run)))
	return nil
}

// pageCommitted is called when the read models have advanced.
func (a *App) pageCommitted(page feed.PageStats) {
	a.metrics.observePage(page)
	a.moved.Notify()
}

// instance names this instance by where it keeps its data, so that it has the same name after a restart.
func (p *parts) instance() string {
	host, _ := os.Hostname()
	return host + ":" + p.cfg.DataDir
}
