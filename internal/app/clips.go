package app

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/recital-tts/recital/internal/blobs/folder"
	"github.com/recital-tts/recital/internal/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/web"
	"github.com/recital-tts/recital/readapi"
	"github.com/recital-tts/recital/readapi/clips"
	"github.com/recital-tts/recital/writeapi/account"
)

// sweepEvery is how often blobs that nothing refers to are looked for, beside once at the start.
const sweepEvery = time.Hour

func (a *App) openKeyring(ctx context.Context) (err error) {
	a.keys, err = pgkeys.Open(ctx, pgkeys.Config{Pool: a.pool, MasterKey: a.secrets.master, Logger: a.log})
	return err
}

// openBlobs opens the folder of this log's blobs: those of another one, with which recitald may be started by mistake,
// lie beside and are never swept.
func (a *App) openBlobs(context.Context) (err error) {
	dir := a.cfg.Blobs
	if dir == "" {
		dir = a.cfg.path("blobs")
	}
	dir = filepath.Join(dir, a.identity.LogID.String())
	a.blobs, err = folder.Open(folder.Config{Dir: dir, Key: a.secrets.addresses, Instance: a.instance(), Logger: a.log})
	return err
}

func (a *App) links() readapi.Links {
	return readapi.Links{Base: strings.TrimRight(a.cfg.PublicURL, "/"), Key: a.secrets.links}
}

func (a *App) clipRoutes() []web.Route {
	read := clips.API{Pool: a.pool, Keys: a.keys, Blobs: a.blobs, Links: a.links()}
	write := account.Clips{Clips: a.clips, ReadModels: a.projector}
	return append(read.Routes(), write.Routes()...)
}

// startSweep removes what crashes left among the blobs.
func (a *App) startSweep(context.Context) error {
	a.background("the sweep of clips", func(ctx context.Context) error {
		select {
		case <-a.projector.CaughtUp():
		case <-ctx.Done():
			return nil
		}
		ticker := time.NewTicker(sweepEvery)
		defer ticker.Stop()
		for {
			a.sweep(ctx)
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return nil
			}
		}
	})
	return nil
}

// sweep tries again in an hour what fails now.
func (a *App) sweep(ctx context.Context) {
	removed, err := a.clips.Sweep(ctx, clips.Blobs{Pool: a.pool}.Shown)
	if removed > 0 {
		a.log.InfoContext(ctx, "removed audio that no clip refers to", "blobs", removed)
	}
	if err != nil && ctx.Err() == nil {
		a.log.WarnContext(ctx, "the sweep of clips failed", "error", err)
	}
}
