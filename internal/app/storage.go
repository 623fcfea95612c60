package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	commands "github.com/recital-tts/recital/commands/keyring"
	"github.com/recital-tts/recital/internal/access/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/http/spool"
	"github.com/recital-tts/recital/internal/process/lifecycle"
	"github.com/recital-tts/recital/internal/process/postgres"
	"github.com/recital-tts/recital/migrations"
	"github.com/recital-tts/recital/writeapi/synthesis"
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
	entrance, err := postgres.NewPool(ctx, url)
	if err != nil {
		return err
	}
	a.entrance = entrance
	a.onClose("the first connections to Postgres", func() error { entrance.Close(); return nil })
	pool, release, hold, err := postgres.NewHeldPool(ctx, url)
	if err != nil {
		return err
	}
	a.pool, a.admitPostgres, a.holdPostgres = pool, release, hold
	a.metrics.observePool(pool)
	a.onClose("the connections to Postgres", func() error { pool.Close(); return nil })
	return nil
}

func (a *App) openKeyring(context.Context) (err error) {
	a.keys, err = pgkeys.New(pgkeys.Config{Pool: a.pool, MasterKey: a.secrets.master, Logger: a.log})
	if err != nil {
		return err
	}
	a.journal.Keys, a.journal.Unsealed = a.keys, a.unsealed
	a.found, err = pgkeys.New(pgkeys.Config{Pool: a.entrance, MasterKey: a.secrets.master, Logger: a.log})
	a.keyring = commands.New(a.journal, a.found, a.log, time.Now)
	return err
}

// unsealed notes that the address of a command's client could not be sealed.
func (a *App) unsealed(err error) {
	a.metrics.unsealed.Inc()
	a.log.Warn("a command was carried out, and the address that it came from is not recorded", "error", err)
}

const (
	// answerTimeout is how long a Postgres that is there may take to answer.
	answerTimeout = 5 * time.Second
	databasePause = 500 * time.Millisecond
)

// openDatabase brings the database up to date. If Postgres is away, or has another keyring than the log's, recitald
// serves what needs none, and waits in the background.
func (a *App) openDatabase(ctx context.Context) error {
	a.database = make(chan struct{})
	err := errKeyringWaits
	if !a.keyringWaits() {
		err = a.prepareDatabase(ctx)
	}
	if err != nil && !mayPass(err) {
		return err
	}
	if err != nil {
		a.explainWait(err)
	}
	a.running.Add(lifecycle.Background("the database", func(ctx context.Context) error { return a.watchDatabase(ctx, err) }))
	return nil
}

// watchDatabase waits until the database can be used, and goes on to see that it is the same: one that was emptied, or
// replaced, is used again only when it has the log's keyring. Reason is what it waits for, nil where it need not.
func (a *App) watchDatabase(ctx context.Context, reason error) error {
	for {
		if reason != nil {
			if err := a.awaitDatabase(ctx, reason); err != nil || ctx.Err() != nil {
				return err
			}
		}
		if reason = a.awaitReplacement(ctx); reason == nil {
			return nil
		}
		a.readiness.behind.Store(true)
		a.holdPostgres()
		a.log.Error("the database was emptied or replaced; it gets its tables again, and is used once it has the log's keyring", "error", reason)
	}
}

// awaitReplacement returns why the database is not the one any more that was prepared, nil when ctx ends first.
func (a *App) awaitReplacement(ctx context.Context) error {
	for {
		select {
		case <-time.After(databasePause):
		case <-ctx.Done():
			return nil
		}
		brief, cancel := context.WithTimeout(ctx, answerTimeout)
		id, err := a.found.ID(brief)
		cancel()
		switch {
		case postgres.IsMissing(err):
			return err
		case err == nil && id != a.knownKeyring:
			return fmt.Errorf("its keyring is %q, and the log's is %s", id, a.knownKeyring)
		}
	}
}

// prepareDatabase migrates the database, takes up the keyring that a restore has left in the data folder, sees that its
// keyring is the log's, and lets everybody use it.
func (a *App) prepareDatabase(ctx context.Context) error {
	brief, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if err := a.entrance.Ping(brief); err != nil {
		return fmt.Errorf("connecting to Postgres: %w", err)
	}
	if err := migrations.Up(ctx, a.entrance); err != nil {
		return err
	}
	if err := a.compareWithTable(ctx); err != nil {
		return err
	}
	if err := a.found.Check(ctx); err != nil {
		return err
	}
	if err := a.takeKeyringUp(ctx); err != nil {
		return err
	}
	err := a.keyring.Match(ctx)
	a.foreignKeyring.Store(isForeign(err))
	if err != nil {
		return err
	}
	if a.knownKeyring, err = a.found.ID(ctx); err != nil {
		return err
	}
	a.admitPostgres()
	a.prepared.Do(func() { close(a.database) })
	return nil
}

// awaitDatabase returns an error when Postgres answers and recitald cannot go on with it. Reason is what it waits for.
func (a *App) awaitDatabase(ctx context.Context, reason error) error {
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
			return nil
		case postgres.IsMissing(err) && a.knownKeyring != "": // somebody is about to create it again
		case ctx.Err() == nil && !mayPass(err):
			return err
		case isForeign(err) != isForeign(reason):
			a.explainWait(err)
			reason = err
		}
	}
}

// mayPass reports whether recitald may go on later with a Postgres with which it cannot now.
func mayPass(err error) bool {
	return postgres.IsAway(err) || isForeign(err) || errors.Is(err, errKeyringWaits) || errors.Is(err, eventlog.ErrUnavailable)
}

func (a *App) explainWait(err error) {
	switch {
	case isForeign(err):
		explainForeign(a.log, err)
		return
	case errors.Is(err, errKeyringWaits):
		a.log.Info("the keyring of a restored backup is taken up; recitald serves what it can without Postgres until then")
		return
	}
	a.log.Warn("Postgres does not answer; recitald serves what it can without it, and waits", "error", err)
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

func (a *App) openBlobs(ctx context.Context) error {
	store, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	a.blobs = store
	return nil
}

// openSpool opens the folders of what is collected before it is sent or saved, and of what is received.
func (a *App) openSpool(context.Context) (err error) {
	a.spool, err = spool.Open(spool.Config{Dir: a.folder.Path("spool"), Budget: int64(a.cfg.SpoolBudget) * mib, MaxFile: synthesis.MaxAudio})
	if err != nil {
		return err
	}
	a.uploads, err = spool.Open(spool.Config{Dir: a.folder.Path("uploads"), Budget: int64(a.cfg.UploadBudget) * mib, MaxFile: maxUpload})
	return err
}
