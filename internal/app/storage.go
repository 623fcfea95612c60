package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	commands "github.com/recital-tts/recital/commands/keyring"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/access/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/http/spool"
	"github.com/recital-tts/recital/internal/process/lifecycle"
	"github.com/recital-tts/recital/internal/process/pause"
	"github.com/recital-tts/recital/internal/process/postgres"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/blobs/folder"
	"github.com/recital-tts/recital/internal/providers/blobs/s3"
	"github.com/recital-tts/recital/internal/providers/signin"
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
	bootstrapPool, err := postgres.NewPool(ctx, url, a.instance())
	if err != nil {
		return err
	}
	a.bootstrapPool = bootstrapPool
	a.onClose("the first connections to Postgres", func() error { bootstrapPool.Close(); return nil })
	pool, release, hold, err := postgres.NewHeldPool(ctx, url, a.instance())
	if err != nil {
		return err
	}
	a.pool, a.admitPostgres, a.holdPostgres = pool, release, hold
	a.metrics.scrape(func() []prometheus.Metric { return poolMetrics(pool.Stat()) })
	a.onClose("the connections to Postgres", func() error { pool.Close(); return nil })
	return nil
}

func (a *App) openKeyring(context.Context) (err error) {
	a.keys, err = pgkeys.New(pgkeys.Config{Pool: a.pool, MasterKey: a.secrets.master, Logger: a.log})
	if err != nil {
		return err
	}
	a.journal.Keys, a.journal.Unsealed = a.keys, a.unsealed
	a.found, err = pgkeys.New(pgkeys.Config{Pool: a.bootstrapPool, MasterKey: a.secrets.master, Logger: a.log})
	a.keyring = commands.New(a.journal, a.found, a.log, time.Now)
	return err
}

// unsealed records that the address of a command's client could not be sealed.
func (a *App) unsealed(err error) {
	a.metrics.unsealed.Inc()
	a.log.Warn("a command was carried out, and the address that it came from is not recorded", "error", err)
}

const (
	// answerTimeout is the time for an available Postgres to answer.
	answerTimeout = 5 * time.Second
	databasePause = 500 * time.Millisecond
)

// openDatabase brings the database up to date. If Postgres is unavailable, or has a keyring other than the log's,
// recitald serves everything that needs no Postgres and waits in the background.
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
	a.running.Add(lifecycle.Background("the database",
		func(ctx context.Context) error { return a.watchDatabase(ctx, err) }))
	return nil
}

// watchDatabase waits until the database can be used, and then watches for its replacement: an emptied or replaced
// database is used again only when it has the log's keyring. reason is the reason for the wait, or nil.
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
		a.log.Error("the database was emptied or replaced; it gets its tables again, "+
			"and is used once it has the log's keyring", "error", reason)
	}
}

// awaitReplacement returns an error once the prepared database was replaced, or nil when ctx ends.
func (a *App) awaitReplacement(ctx context.Context) error {
	for {
		if pause.For(ctx, databasePause) != nil {
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

// prepareDatabase migrates the database, imports the keyring that a restore has left in the data folder, checks that
// the keyring is the log's, and admits the pool.
func (a *App) prepareDatabase(ctx context.Context) error {
	brief, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if err := a.bootstrapPool.Ping(brief); err != nil {
		return fmt.Errorf("connecting to Postgres: %w", err)
	}
	if err := migrations.Up(ctx, a.bootstrapPool); err != nil {
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

// awaitDatabase waits until the database is prepared. It returns an error if recitald cannot continue with it. reason
// is the reason for the wait.
func (a *App) awaitDatabase(ctx context.Context, reason error) error {
	for {
		if pause.For(ctx, databasePause) != nil {
			return nil
		}
		err := a.prepareDatabase(ctx)
		switch {
		case err == nil:
			a.log.Info("Postgres is there")
			return nil
		case postgres.IsMissing(err) && a.knownKeyring != "": // it is being recreated
		case ctx.Err() == nil && !mayPass(err):
			return err
		case isForeign(err) != isForeign(reason):
			a.explainWait(err)
			reason = err
		}
	}
}

// mayPass reports whether an error of preparing the database may be temporary.
func mayPass(err error) bool {
	return postgres.IsAway(err) || isForeign(err) || errors.Is(err, errKeyringWaits) ||
		errors.Is(err, eventlog.ErrUnavailable)
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

// openSpool opens the folders of replies and clips until they are sent or saved, and of uploads.
func (a *App) openSpool(context.Context) (err error) {
	a.spool, err = spool.Open(spool.Config{
		Dir: a.folder.Path("spool"), Budget: int64(a.cfg.SpoolBudget) * mib, MaxFile: synthesis.MaxAudio,
	})
	if err != nil {
		return err
	}
	a.uploads, err = spool.Open(spool.Config{
		Dir: a.folder.Path("uploads"), Budget: int64(a.cfg.UploadBudget) * mib, MaxFile: maxUpload,
	})
	return err
}

// openBlobs opens the blobs of this log, in S3 or in a folder. The log's id is part of their address, so that a
// recitald with another log never sweeps them by mistake.
func (a *App) openBlobs(ctx context.Context) error {
	store, err := a.openConfiguredStore(ctx)
	if err != nil {
		return err
	}
	a.blobStore = a.metrics.watchBlobs(store, a.log)
	a.blobs = a.blobStore
	return nil
}

func (a *App) openConfiguredStore(ctx context.Context) (blobs.Store, error) {
	own := a.identity.LogID.String()
	if !a.cfg.blobsInS3() {
		dir := a.cfg.Blobs
		if dir == "" {
			dir = a.folder.Path("blobs")
		}
		return folder.Open(folder.Config{Dir: filepath.Join(dir, own), Instance: a.instance(), Logger: a.log})
	}
	conf, err := a.cfg.s3()
	if err != nil {
		return nil, err
	}
	conf.Folder, conf.Logger = own, a.log
	store, err := s3.Open(ctx, conf)
	if err != nil {
		return nil, err
	}
	a.onClose("the blobs in S3", store.Close)
	a.running.Add(lifecycle.Job{Name: "the sweep of unfinished uploads", Every: time.Hour, Logger: a.log,
		Do: a.sweep(store.Sweep, "removed uploads that crashes have left unfinished", "uploads")}.Part())
	return store, nil
}

// sweep returns a job that removes what crashes have left, and logs how much there was.
func (c *coreParts) sweep(
	remove func(context.Context) (int, error), message, what string,
) func(context.Context) error {
	return func(ctx context.Context) error {
		removed, err := remove(ctx)
		if removed > 0 {
			c.log.InfoContext(ctx, message, what, removed)
		}
		return err
	}
}

func (c Config) blobsInS3() bool { return strings.HasPrefix(c.Blobs, s3.Scheme) }

// s3 returns the configured store with its credentials.
func (c Config) s3() (conf s3.Config, err error) {
	if conf.Location, err = s3.ParseURL(c.Blobs); err != nil {
		return conf, err
	}
	conf.AccessKey, conf.SecretKey = c.S3AccessKey, c.S3SecretKey
	return conf, nil
}

func (c Config) checkBlobs(m *Mistakes) {
	if !c.blobsInS3() {
		m.when(c.Blobs != "" && !filepath.IsAbs(c.Blobs), "blobs",
			"it must be the absolute path of a folder, or s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION")
		return
	}
	access, secret := c.S3AccessKey != "" || c.S3AccessKeyFile != "", c.S3SecretKey != "" || c.S3SecretKeyFile != ""
	m.when(access != secret, "s3-secret-key",
		"S3 needs both keys, RECITAL_S3_ACCESS_KEY and RECITAL_S3_SECRET_KEY, "+
			"or neither, and finds them where AWS's tools do")
	location, err := s3.ParseURL(c.Blobs)
	if err == nil && c.Mode == modeProd && location.Plain && !location.PlainMeant && !signin.IsLoopback(location.Host) {
		err = errors.New("in mode prod blobs in S3 travel over TLS, except on loopback: " +
			"give an endpoint that begins with https://, or add tls=false where nobody else is on the network between")
	}
	m.add("blobs", err)
}

// watchedBlobs is a store with metrics that knows whether it answers.
type watchedBlobs struct {
	blobs.Store
	took   *prometheus.HistogramVec
	silent atomic.Pointer[time.Time] // the start of the silence; nil while the store answers
	log    *slog.Logger
}

func (m *metrics) watchBlobs(store blobs.Store, log *slog.Logger) *watchedBlobs {
	w := &watchedBlobs{Store: store, log: log, took: m.histogram("recital_blob_operation_seconds",
		"Duration of operations on the blob store.", prometheus.ExponentialBuckets(0.0005, 4, 9), "operation", "outcome")}
	m.registry.MustRegister(gaugeFunc("recital_blob_store_answers", "Whether the blob store has carried out what it was "+
		"asked last: 1 or 0. Without it clips are neither saved nor played.",
		func() float64 { return oneIf(w.silent.Load() == nil) }))
	return w
}

// note records the outcome of an operation. A cancelled one is ignored; a timeout means that the store is too slow.
func (w *watchedBlobs) note(operation string, begun time.Time, err error) {
	outcome, silent := "done", false
	switch {
	case errors.Is(err, context.Canceled):
		w.took.WithLabelValues(operation, "cancelled").Observe(time.Since(begun).Seconds())
		return
	case domain.CodeOf(err) == domain.Unavailable, errors.Is(err, context.DeadlineExceeded):
		outcome, silent = "failed", true
	case err != nil:
		outcome = "refused"
	}
	w.took.WithLabelValues(operation, outcome).Observe(time.Since(begun).Seconds())
	switch {
	case silent && w.silent.CompareAndSwap(nil, &begun):
		w.log.Warn("the blob store does not answer: clips are neither saved nor played until it does")
	case !silent && w.silent.Swap(nil) != nil:
		w.log.Info("the blob store answers again")
	}
}

// isSilent reports whether the store does not answer, with the start of the silence.
func (w *watchedBlobs) isSilent() (since time.Time, is bool) {
	if at := w.silent.Load(); at != nil {
		return *at, true
	}
	return time.Time{}, false
}

// Put implements blobs.Store. A source that breaks reveals nothing about the store.
func (w *watchedBlobs) Put(
	ctx context.Context, address blobs.Address, r io.Reader, size int64,
) (blob blobs.Blob, err error) {
	begun := time.Now()
	blob, err = w.Store.Put(ctx, address, r, size)
	if !errors.Is(err, blobs.ErrSource) || ctx.Err() != nil {
		w.note("put", begun, err)
	}
	return blob, err
}

// Stat implements blobs.Store.
func (w *watchedBlobs) Stat(ctx context.Context, address blobs.Address) (blob blobs.Blob, err error) {
	defer func(begun time.Time) { w.note("stat", begun, err) }(time.Now())
	return w.Store.Stat(ctx, address)
}

// Open implements blobs.Store.
func (w *watchedBlobs) Open(
	ctx context.Context, address blobs.Address, offset, length int64,
) (r io.ReadCloser, err error) {
	defer func(begun time.Time) { w.note("open", begun, err) }(time.Now())
	return w.Store.Open(ctx, address, offset, length)
}

// Delete implements blobs.Store.
func (w *watchedBlobs) Delete(ctx context.Context, address blobs.Address) (err error) {
	defer func(begun time.Time) { w.note("delete", begun, err) }(time.Now())
	return w.Store.Delete(ctx, address)
}

// List implements blobs.Store.
func (w *watchedBlobs) List(ctx context.Context, prefix string) iter.Seq2[blobs.Blob, error] {
	return func(yield func(blobs.Blob, error) bool) {
		for blob, err := range w.Store.List(ctx, prefix) {
			if err != nil {
				w.note("list", time.Now(), err)
			}
			if !yield(blob, err) {
				return
			}
		}
	}
}

// noBlobs is a prefix without blobs, so that listing it costs one request.
const noBlobs = "nobody-"

// lookAtBlobs checks whether the store answers, even if it is not in use.
func (w *watchedBlobs) lookAtBlobs(ctx context.Context) error {
	begun := time.Now()
	var failed error
	for _, err := range w.Store.List(ctx, noBlobs) {
		failed = err
	}
	w.note("look", begun, failed)
	return nil // note has logged it
}
