// Package app puts the parts together: configuration, start, life and end of a recitald.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recital-tts/recital/commands"
	"github.com/recital-tts/recital/internal/audio"
	"github.com/recital-tts/recital/internal/audio/codec"
	"github.com/recital-tts/recital/internal/blobs/folder"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/eventlog/catalog"
	"github.com/recital-tts/recital/internal/eventlog/esdb"
	"github.com/recital-tts/recital/internal/eventnode"
	"github.com/recital-tts/recital/internal/feed"
	"github.com/recital-tts/recital/internal/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/operators"
	"github.com/recital-tts/recital/internal/postgres"
	"github.com/recital-tts/recital/internal/revocation"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/worker"
	"github.com/recital-tts/recital/internal/todo"
	"github.com/recital-tts/recital/internal/wordtimes"
	"github.com/recital-tts/recital/internal/workers"
	"github.com/recital-tts/recital/migrations"
	"github.com/recital-tts/recital/projections/accounts"
	"github.com/recital-tts/recital/projections/clips"
	"github.com/recital-tts/recital/projections/ledger"
)

// startTimeout bounds what must answer before recitald serves.
const startTimeout = 60 * time.Second

// App is a running recitald.
type App struct {
	cfg     Config
	log     *slog.Logger
	metrics *metrics
	failed  chan error // a part that recitald cannot live without has ended

	node      *eventnode.Node // nil with an EventStoreDB
	journal   commands.Journal
	pool      *pgxpool.Pool
	identity  eventlog.Identity // of the log
	engines   *worker.Pool
	second    *worker.Pool // the engine of the blizzard models
	codecs    *codec.Pool
	projector *feed.Projector
	moved     todo.Bell // rings when the read models have moved
	ledger    *commands.Ledger
	accounts  *commands.Accounts
	secrets   secrets
	keys      *pgkeys.Keyring
	watcher   *revocation.Watcher // of API keys
	blobs     *folder.Store
	clips     *commands.Clips
	wordTimes *wordtimes.Shelf
	slots     *commands.Slots
	public    listener
	admin     listener
	tokens    []operators.Token // of the admin address
	devKey    string            // empty in mode prod, and when it was revoked

	closers []closer // in the order in which the parts were started
}

type closer struct {
	part  string
	close func() error
}

// Open starts all parts and returns when requests are served. ctx bounds the start. Close must follow, unless an error
// is returned.
func Open(ctx context.Context, cfg Config, stderr io.Writer) (*App, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	a := &App{cfg: cfg, log: newLogger(cfg, stderr), failed: make(chan error, 8)}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := a.start(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *App) start(ctx context.Context) error {
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"preparing the data folder", a.prepareDataDir},
		{"reading the admin tokens", a.readTokens},
		{"reading the keys", a.readSecrets},
		{"opening the event log", a.openLog},
		{"opening Postgres", a.openPostgres},
		{"opening the keyring", a.openKeyring},
		{"starting the speech workers", a.startWorkers},
		{"starting the projections", a.startProjections},
		{"opening the blobs", a.openBlobs},
		{"making the commands ready", a.prepareCommands},
		{"opening the operator account", a.openOperatorAccount},
		{"watching for revocations", a.watchRevocations},
		{"starting the to-do workers", a.startToDos},
		{"starting the sweep of clips", a.startSweep},
		{"starting the sweep of word times", a.startTimestampsSweep},
		{"serving", a.serve},
	} {
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// prepareDataDir makes the folder passable for others, because the user of the private Postgres has its data below it.
// Every secret in it has a mode of its own.
func (a *App) prepareDataDir(context.Context) error {
	absolute, err := filepath.Abs(a.cfg.DataDir)
	if err != nil {
		return err
	}
	a.cfg.DataDir = absolute
	if err := os.MkdirAll(absolute, 0o711); err != nil {
		return err
	}
	if err := a.lockDataDir(); err != nil {
		return err
	}
	return a.removeUnfinished()
}

func (a *App) openLog(ctx context.Context) error {
	config := esdb.Config{ConnectionString: a.cfg.EventStore, Logger: a.log}
	if a.cfg.EventStore == "" {
		if err := a.openNode(&config); err != nil {
			return err
		}
	}
	client, err := esdb.Open(config)
	if err != nil {
		return err
	}
	a.onClose("the event log's client", client.Close)
	registry, err := catalog.Registry()
	if err != nil {
		return err
	}
	a.journal = commands.Journal{Log: client, Registry: registry}
	return nil
}

func (a *App) openNode(config *esdb.Config) error {
	folder := a.cfg.path("eventnode")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	socket, remove, err := socketPath(folder)
	if err != nil {
		return err
	}
	a.onClose("the event node's socket", remove)
	node, err := eventnode.Open(eventnode.Config{Dir: folder, Socket: socket, Address: a.cfg.EventNodeAddr, Logger: a.log})
	if err != nil {
		return err
	}
	a.node = node
	a.onClose("the event node", node.Close)
	a.watch("the event node", node.Done(), node.Err)
	config.Socket = socket
	return nil
}

// maxSocketPath is what fits into a sockaddr_un on Linux, in bytes.
const maxSocketPath = 107

// socketPath puts the socket into the folder, or into a short private one when the path would be too long.
func socketPath(folder string) (path string, remove func() error, err error) {
	path = filepath.Join(folder, "node.sock")
	if len(path) <= maxSocketPath {
		return path, func() error { return nil }, nil
	}
	short, err := os.MkdirTemp("", "recital-") // 0700
	if err != nil {
		return "", nil, fmt.Errorf("making a folder for the event node's socket: %w", err)
	}
	return filepath.Join(short, "node.sock"), func() error { return os.RemoveAll(short) }, nil
}

func (a *App) openPostgres(ctx context.Context) error {
	url := a.cfg.Postgres
	if url == "" {
		cluster, err := postgres.StartCluster(ctx, postgres.ClusterConfig{Dir: a.cfg.path("postgres"), Logger: a.log})
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

func (a *App) startWorkers(context.Context) error {
	binary, err := a.cfg.speechWorker()
	if err != nil {
		return err
	}
	command := func(mode string) workers.Command { return workers.Command{Path: binary, Args: []string{mode}} }
	a.engines, err = worker.Open(worker.Config{Command: command("engine"), Size: a.cfg.Engines, Logger: a.log})
	if err != nil {
		return err
	}
	a.onClose("the speech engines", a.engines.Close)
	a.second, err = worker.Open(worker.Config{Command: command("flite"), Size: (a.engines.Stats().Size + 1) / 2, Logger: a.log})
	if err != nil {
		return err
	}
	a.onClose("the second speech engines", a.second.Close)
	a.codecs, err = codec.Open(codec.Config{Command: command("codec"), Size: a.cfg.Codecs, Logger: a.log})
	if err != nil {
		return err
	}
	a.onClose("the codecs", func() error { a.codecs.Close(); return nil })
	return nil
}

func (a *App) startProjections(ctx context.Context) error {
	identity, err := eventlog.Identify(ctx, a.journal.Log, a.journal.Registry, uuid.New(), time.Now())
	if err != nil {
		return err
	}
	a.identity = identity
	a.metrics = newMetrics(a)
	a.projector, err = feed.NewProjector(feed.Config{
		Log: a.journal.Log, Registry: a.journal.Registry, Pool: a.pool, Identity: identity,
		Projections: slices.Concat(accounts.ReadModels(), ledger.ReadModels(), clips.ReadModels()),
		Instance:    a.instance(),
		Logger:      a.log,
		Alert: func(projection, reason string) {
			a.log.Error("alert", "projection", projection, "reason", reason)
			a.metrics.alerts.WithLabelValues(projection).Inc()
		},
		OnPage: a.pageCommitted,
	})
	if err != nil {
		return err
	}
	a.background("the projections", a.projector.Run)
	return nil
}

// instance names this instance the same after a restart: by where it keeps its data.
func (a *App) instance() string {
	host, _ := os.Hostname()
	return host + ":" + a.cfg.DataDir
}

func (a *App) prepareCommands(context.Context) error {
	var err error
	a.ledger, err = commands.NewLedger(a.journal, time.Now, a.cfg.longestReservation())
	if err != nil {
		return err
	}
	a.onClose("the ledger", func() error { a.ledger.Close(); return nil })
	a.accounts = commands.NewAccounts(a.journal, time.Now)
	a.clips = commands.NewClips(a.journal, a.keys, a.blobs, time.Now, a.log)
	a.wordTimes = wordtimes.NewShelf(a.keys, a.blobs, time.Now)
	limits, err := a.cfg.concurrency()
	if err != nil {
		return err
	}
	a.slots = commands.NewSlots(limits)
	return nil
}

func (a *App) synthesiser() *commands.Synthesiser {
	return &commands.Synthesiser{
		Ledger: a.ledger, Speaker: speech.NewSpeaker(a.engines).WithSecondEngine(a.second), Encoders: audio.NewEncoders(a.codecs), ReadModels: a.projector,
		Clips: a.clips, Slots: a.slots, Timestamps: commands.NewTimestamps(a.wordTimes, a.log),
	}
}

// background runs a part until Close. When it ends before, recitald ends.
func (a *App) background(part string, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		err := run(ctx)
		if ctx.Err() == nil {
			a.fail(part, err)
			err = nil
		}
		done <- err
	}()
	a.onClose(part, func() error { cancel(); return <-done })
}

func (a *App) watch(part string, done <-chan struct{}, why func() error) {
	go func() {
		<-done
		if err := why(); err != nil {
			a.fail(part, err)
		}
	}()
}

func (a *App) fail(part string, err error) {
	select {
	case a.failed <- fmt.Errorf("%s ended: %w", part, err):
	default: // recitald is already ending for the reasons before
	}
}

func (a *App) onClose(part string, close func() error) {
	a.closers = append(a.closers, closer{part, close})
}

// Run returns when ctx ends, with nil, or when a part that recitald cannot live without has ended.
func (a *App) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-a.failed:
		return err
	}
}

// Close stops the parts in the reverse order of their start: first the listeners, which finish the replies under way.
func (a *App) Close() error {
	var errs []error
	for _, c := range slices.Backward(a.closers) {
		if err := c.close(); err != nil {
			errs = append(errs, fmt.Errorf("closing %s: %w", c.part, err))
		}
	}
	a.closers = nil
	return errors.Join(errs...)
}
