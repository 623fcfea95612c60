// Package app assembles the service: the configuration, the parts that everything depends on, the slices, and the
// start, run and shutdown of recitald. Each slice has a file of its own; slice.go lists them.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/internal/access/credentials"
	"github.com/recital-tts/recital/internal/access/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventnode"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/events/todo/pglist"
	"github.com/recital-tts/recital/internal/http/rates"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/process/lifecycle"
	"github.com/recital-tts/recital/internal/process/tracing"
)

// startTimeout bounds the start, until requests are served.
const startTimeout = 60 * time.Second

// App is a running recitald.
type App struct {
	parts
	service service
	traces  *tracing.Tracer // nil if none are exported
	moved   todo.Notifier   // of the to-do workers, when their read models have changed

	nodeStats    func() eventnode.Stats // nil without an embedded event node
	storeSilence func() time.Duration   // time for which the event store has not answered
	began        eventlog.Position      // the head of the log when the start began
	credentials  *credentials.Watcher
	blobStore    *watchedBlobs

	bootstrapPool  *pgxpool.Pool   // connects to Postgres before it is verified
	found          *pgkeys.Keyring // the keyring in Postgres, even if it is not the log's
	admitPostgres  func()          // lets pool connect
	holdPostgres   func()          // keeps pool from connecting
	knownKeyring   string          // id of the keyring in Postgres, once Postgres was admitted
	prepared       sync.Once       // closes database
	foreignKeyring atomic.Bool     // Postgres has a keyring other than the log's

	seenMu   sync.Mutex
	seen     seen
	public   net.Addr
	admin    net.Addr
	devKey   string // empty in mode prod, and once it is no longer valid
	noDevKey string // the reason why it is not valid, and what to do

	stopping  sync.Mutex
	stoppedBy uuid.UUID // the event that last stopped a projection
	stoppedAt time.Time
}

// Open starts all parts and returns when requests are served. ctx bounds the start. Unless Open returns an error, the
// caller must call Close.
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
	a := &App{}
	a.cfg, a.log, a.running, a.time = cfg, newLogger(cfg, stderr), &lifecycle.Group{}, realTime()
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
		// It waits for a read model, which may need an operator's help.
		{"opening the operator account", a.openOperatorAccount},
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
	a.rates = rates.New(limits)
	a.metrics.scrape(func() []prometheus.Metric { return rateMetrics(a.rates) })
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

// Run waits until ctx ends and returns nil, or returns an error if a required part has ended.
func (a *App) Run(ctx context.Context) error { return a.running.Wait(ctx) }

// Close stops the parts in the reverse order of their start. The listeners come first and finish the replies in
// progress.
func (a *App) Close() error { return a.running.Stop() }

func newLogger(cfg Config, out io.Writer) *slog.Logger {
	var level slog.Level
	if level.UnmarshalText([]byte(cfg.LogLevel)) != nil {
		level = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: level}
	if cfg.LogFormat == "json" {
		return slog.New(requestIDs{slog.NewJSONHandler(out, options)})
	}
	return slog.New(requestIDs{slog.NewTextHandler(out, options)})
}

// requestIDs adds the id of the request to log lines that lack it.
type requestIDs struct{ slog.Handler }

const requestIDName = "request_id"

// Handle implements slog.Handler.
func (h requestIDs) Handle(ctx context.Context, line slog.Record) error {
	if hasAttr(line, requestIDName) {
		return h.Handler.Handle(ctx, line)
	}
	if id := web.RequestIDOf(ctx); id != "" {
		line = line.Clone()
		line.AddAttrs(slog.String(requestIDName, id))
	}
	return h.Handler.Handle(ctx, line)
}

// WithAttrs implements slog.Handler.
func (h requestIDs) WithAttrs(attrs []slog.Attr) slog.Handler {
	return requestIDs{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h requestIDs) WithGroup(name string) slog.Handler { return requestIDs{h.Handler.WithGroup(name)} }

func hasAttr(line slog.Record, name string) (has bool) {
	line.Attrs(func(a slog.Attr) bool {
		has = a.Key == name
		return !has
	})
	return has
}

// Welcome prints the information that a person needs to begin. It prints no API key in mode prod or if secrets is
// false, because the output ends up in logs.
func (a *App) Welcome(out io.Writer, secrets bool) {
	if a.cfg.Mode == modeProd {
		fmt.Fprintf(out, "Recital is running: address http://%s, admin http://%s\n", a.PublicAddr(), a.AdminAddr())
		return
	}
	key, example := a.devKey+"  (also in "+a.folder.Path(devKeyFile)+")", a.devKey
	switch {
	case a.devKey == "":
		key, example = a.noDevKey, "$KEY"
	case !secrets:
		key, example = "in "+a.folder.Path(devKeyFile), "$KEY"
	}
	better := ""
	if !a.installed.HasRuntime() {
		better = "\nmake voices brings voices that sound better, of neural networks (75 MB).\n"
	}
	fmt.Fprintf(out, `
Recital is running.

  address      http://%[1]s
  try it       http://%[1]s/docs
  sign in      http://%[1]s/auth/oauth/login?provider=idp_1&redirect=http%%3A%%2F%%2F%[1]s%%2Fdocs
  admin        http://%[2]s  (recitalctl uses it)
  payments     %[6]s
  hosting      %[7]s
  data folder  %[3]s
  API key      %[4]s

Make hello.mp3:

  curl -sS http://%[1]s/v1/ai/speech/bytes -H 'x-api-key: %[5]s' -H 'content-type: application/json' \
    -d '{"text": "Hello world. This is Recital.", "voice": "leah"}' -o hello.mp3
%[8]s
Ctrl-C stops everything; the data stays.
`, a.PublicAddr(), a.AdminAddr(), a.cfg.DataDir, key, example, a.paymentsAt(), a.platformAt(), better)
}
