package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/recital-tts/recital/internal/blobs/folder"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/lifecycle"
	"github.com/recital-tts/recital/internal/postgres"
	"github.com/recital-tts/recital/migrations"
)

// openPostgres prepares connections to Postgres, a private cluster unless one is configured.
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
	pool, err := postgres.NewPool(ctx, url)
	if err != nil {
		return err
	}
	a.pool = pool
	a.onClose("the connections to Postgres", func() error { pool.Close(); return nil })
	return nil
}

func (a *App) openKeyring(context.Context) (err error) {
	a.keys, err = pgkeys.New(pgkeys.Config{Pool: a.pool, MasterKey: a.secrets.master, Logger: a.log})
	return err
}

const (
	// answerTimeout is how long a Postgres that is there may take to answer.
	answerTimeout = 5 * time.Second
	databasePause = 500 * time.Millisecond
)

// openDatabase brings the database up to date. If Postgres is away, recitald serves what needs none, and waits for it in
// the background.
func (a *App) openDatabase(ctx context.Context) error {
	a.database = make(chan struct{})
	err := a.prepareDatabase(ctx)
	if err == nil || !postgres.IsAway(err) {
		return err
	}
	a.log.Warn("Postgres does not answer; recitald serves what it can without it, and waits", "error", err)
	a.running.Add(lifecycle.Background("the database", a.awaitDatabase))
	return nil
}

// prepareDatabase migrates the database and sees that its keyring is the log's.
func (a *App) prepareDatabase(ctx context.Context) error {
	brief, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if err := a.pool.Ping(brief); err != nil {
		return fmt.Errorf("connecting to Postgres: %w", err)
	}
	if err := migrations.Up(ctx, a.pool); err != nil {
		return err
	}
	if err := a.keys.Check(ctx); err != nil {
		return err
	}
	if err := a.matchKeyring(ctx); err != nil {
		return err
	}
	a.keys.Admit()
	close(a.database)
	return nil
}

// awaitDatabase returns an error when Postgres answers and recitald cannot go on with it.
func (a *App) awaitDatabase(ctx context.Context) error {
	for {
		select {
		case <-time.After(databasePause):
		case <-ctx.Done():
			return nil
		}
		err := a.prepareDatabase(ctx)
		switch {
		case err == nil:
			a.log.Info("Postgres is there")
			<-ctx.Done()
			return nil
		case !postgres.IsAway(err) && !errors.Is(err, eventlog.ErrUnavailable) && ctx.Err() == nil:
			return err
		}
	}
}

// withDatabase delays a part until the database is up to date.
func (a *App) withDatabase(run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-a.database:
			return run(ctx)
		case <-ctx.Done():
			return nil
		}
	}
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
