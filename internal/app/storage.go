package app

import (
	"context"
	"path/filepath"

	"github.com/recital-tts/recital/internal/blobs/folder"
	"github.com/recital-tts/recital/internal/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/postgres"
	"github.com/recital-tts/recital/migrations"
)

// openPostgres connects to Postgres, a private cluster unless one is configured.
func (a *App) openPostgres(ctx context.Context) error {
	url := a.cfg.Postgres
	if url == "" {
		cluster, err := postgres.StartCluster(ctx, postgres.ClusterConfig{Dir: a.folder.Path("postgres"), Logger: a.log})
		if err != nil {
			return err
		}
		a.onClose("Postgres", cluster.Close)
		url = cluster.URL()
	}
	pool, err := postgres.Open(ctx, url)
	if err != nil {
		return err
	}
	a.pool = pool
	a.onClose("the connections to Postgres", func() error { pool.Close(); return nil })
	return migrations.Up(ctx, pool)
}

func (a *App) openKeyring(ctx context.Context) (err error) {
	a.keys, err = pgkeys.Open(ctx, pgkeys.Config{Pool: a.pool, MasterKey: a.secrets.master, Logger: a.log})
	return err
}

// openBlobs opens the folder of this log's blobs: those of another one, with which recitald may be started by mistake,
// lie beside and are never swept.
func (a *App) openBlobs(context.Context) (err error) {
	dir := a.cfg.Blobs
	if dir == "" {
		dir = a.folder.Path("blobs")
	}
	dir = filepath.Join(dir, a.identity.LogID.String())
	a.blobs, err = folder.Open(folder.Config{Dir: dir, Key: a.secrets.addresses, Instance: a.instance(), Logger: a.log})
	return err
}
