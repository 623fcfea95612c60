// Package app assembles the service: the configuration, the parts that everything depends on, the slices, and the
// start, run and shutdown of a recitald. Each slice is one file; slice.go lists them.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/internal/events/todo/pglist"
	"github.com/recital-tts/recital/internal/http/rates"
	"github.com/recital-tts/recital/internal/process/lifecycle"
)

// startTimeout bounds what must answer before recitald serves.
const startTimeout = 60 * time.Second

// App is a running recitald.
type App struct {
	parts
	service  service
	seenMu   sync.Mutex
	seen     seen
	public   listener
	admin    listener
	devKey   string // empty in mode prod, and when it is not valid any more
	noDevKey string // why it is not, and what a person can do

	stopping  sync.Mutex
	stoppedBy uuid.UUID // the event that stopped a projection last
	stoppedAt time.Time
}

// Open starts all parts and returns when requests are served. ctx bounds the start. Close must follow, unless an error
// is returned.
func Open(ctx context.Context, cfg Config, stderr io.Writer) (*App, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if err := cfg.checkFiles(); err != nil {
		return nil, err
	}
	cfg, err := cfg.withSecrets()
	if err != nil {
		return nil, err
	}
	if err := requireFiles(cfg.Connections); err != nil {
		return nil, err
	}
	a := &App{parts: parts{cfg: cfg, log: newLogger(cfg, stderr), running: &lifecycle.Group{}}}
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
		{"preparing the data folder", a.openFolder},
		{"opening the traces", a.openTraces},
		{"reading the admin tokens", a.readTokens},
		{"reading the keys", a.readSecrets},
		{"opening the event log", a.openLog},
		{"comparing the event log with what was seen of it", a.compareWithFolder},
		{"opening Postgres", a.openPostgres},
		{"opening the keyring", a.openKeyring},
		{"preparing the database", a.openDatabase},
		{"opening the blobs", a.openBlobs},
		{"opening the spool", a.openSpool},
		{"starting the speech workers", a.startWorkers},
		{"starting the stand-ins", a.openStandIns},
		{"opening the alerts", a.openAlerts},
		{"noting how far the log is seen", a.keepSeen},
		{"starting the projections", a.startProjections},
		{"opening the slices", a.openSlices},
		{"watching credentials", a.watchCredentials},
		{"starting the to-do workers", a.startToDos},
		{"starting the jobs", a.startJobs},
		{"starting the checks", a.startChecks},
		{"serving", a.serve},
		{"opening the operator account", a.openOperatorAccount}, // waits for a read model, which an operator may have to help on
	} {
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

func (a *App) openSlices(context.Context) error {
	a.drain = newDrain(a.cfg.drainDelay())
	limits, err := a.cfg.rates()
	if err != nil {
		return err
	}
	if a.rates, err = rates.New(limits); err != nil {
		return err
	}
	a.locks = pglist.NewLeaderLocks(a.pool)
	a.onClose("the leader locks", a.locks.Close)
	if a.service, err = openSlices(&a.parts); err != nil {
		return err
	}
	a.metrics.registry.MustRegister(a.service.collectors...)
	a.health.Add(a.partChecks()...)
	a.health.Add(a.service.checks...)
	return nil
}

func (a *App) startJobs(context.Context) error {
	for _, j := range a.service.jobs {
		var after <-chan struct{}
		if j.current {
			after = a.projector.CaughtUp()
		}
		a.running.Add(lifecycle.Job{Name: j.name, Every: j.every, After: after, Do: j.run, Logger: a.log}.Part())
	}
	return nil
}

// Run returns when ctx ends, with nil, or when a part that recitald cannot live without has ended.
func (a *App) Run(ctx context.Context) error { return a.running.Wait(ctx) }

// Close stops the parts in the reverse order of their start: first the listeners, which finish the replies under way.
func (a *App) Close() error { return a.running.Stop() }
