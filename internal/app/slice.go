package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/alerts"
	"github.com/recital-tts/recital/commands/clips"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/commands/keyring"
	"github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/commands/pronunciations"
	"github.com/recital-tts/recital/commands/sessions"
	"github.com/recital-tts/recital/commands/skips"
	"github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/internal/access/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/access/operators"
	"github.com/recital-tts/recital/internal/events/changes"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/events/todo/pglist"
	"github.com/recital-tts/recital/internal/http/links"
	"github.com/recital-tts/recital/internal/http/rates"
	"github.com/recital-tts/recital/internal/http/spool"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/process/datafolder"
	"github.com/recital-tts/recital/internal/process/health"
	"github.com/recital-tts/recital/internal/process/lifecycle"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/payments"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/codec"
	"github.com/recital-tts/recital/internal/speech/audio/decode"
	"github.com/recital-tts/recital/internal/speech/generations"
	"github.com/recital-tts/recital/internal/speech/installed"
	"github.com/recital-tts/recital/internal/speech/japanese/reader"
	"github.com/recital-tts/recital/internal/speech/precheck"
	"github.com/recital-tts/recital/internal/speech/wordtimes"
	"github.com/recital-tts/recital/internal/speech/worker"
	openalerts "github.com/recital-tts/recital/readapi/alerts"
	readvoices "github.com/recital-tts/recital/readapi/voices"
	writeaudit "github.com/recital-tts/recital/writeapi/audit"
)

// slice is one area of the service in one value. Its event types and read models are known before anything runs; open
// returns its routes and background work.
type slice struct {
	name       string
	events     []eventlog.Type
	readModels []feed.Projection
	open       func() (service, error)
}

// service is an open slice. The routes, to-do workers, jobs, checks and metrics of recitald follow from it.
type service struct {
	public     []web.Route
	admin      []web.Route
	toDos      []toDo
	byPlan     []toDo // due in the time of plans
	slow       []toDo // whose items take minutes, so other instances take over later
	bursts     []toDo // due in the time of plans, thousands at once
	jobs       []job
	checks     []health.Check
	collectors []prometheus.Collector // the slice's metrics
	close      func() error           // ends the work started by open; may be nil
	// When an account closes, ends and then erases are called. ends may return a *todo.NotYetError, which does not delay
	// the others. awaits wait for erasing to-dos of the slice: each returns a *todo.NotYetError until these are done.
	ends, erases, awaits []closing
}

// closing is called when an account closes. It may be called again for the same account.
type closing func(ctx context.Context, account string) error

// toDo is a process with the view of its due items.
type toDo struct {
	process string
	view    readmodel.ToDo
	do      carryOut
}

// carryOut carries out an item of a to-do list.
type carryOut func(ctx context.Context, item todo.Item) (eventlog.Position, error)

// byStream returns a carryOut that identifies an item by its stream.
func byStream(do func(ctx context.Context, stream string, cause uuid.UUID) (eventlog.Position, error)) carryOut {
	return func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
		return do(ctx, item.Stream, item.Cause)
	}
}

// byID returns a carryOut that identifies an item by its id.
func byID(do func(ctx context.Context, id string, cause uuid.UUID) (eventlog.Position, error)) carryOut {
	return func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
		return do(ctx, item.ID, item.Cause)
	}
}

// job runs at the start and then at an interval. Failures are logged, and the next run tries again.
type job struct {
	name    string
	every   time.Duration
	current bool // starts once the read models have caught up
	run     func(ctx context.Context) error
}

// allSlices is the only list of slices. They are opened in this order, because a slice may use the commands of an
// earlier one.
func allSlices(p *parts) []slice {
	return []slice{
		accountsSlice(&p.coreParts, &p.sharedParts),
		sessionsSlice(&p.coreParts, &p.sharedParts),
		alertsSlice(&p.coreParts, &p.statusParts, &p.sharedParts),
		keyringSlice(&p.storeParts),
		backupSlice(&p.storeParts),
		ledgerSlice(&p.coreParts, &p.storeParts, &p.sharedParts),
		paymentsSlice(&p.coreParts, &p.providerParts),
		billingSlice(&p.coreParts, &p.providerParts, &p.sharedParts),
		signinSlice(&p.coreParts, &p.providerParts, &p.sharedParts),
		clipsSlice(&p.coreParts, &p.storeParts, &p.sharedParts),
		packagesSlice(&p.coreParts, &p.storeParts, &p.workerParts),
		voicesSlice(&p.coreParts, &p.storeParts, &p.workerParts, &p.sharedParts),
		pronunciationsSlice(&p.coreParts, &p.sharedParts),
		synthesisSlice(&p.coreParts, &p.statusParts, &p.storeParts, &p.workerParts, &p.sharedParts),
		alignmentSlice(&p.coreParts, &p.workerParts),
		feedbackSlice(&p.coreParts),
		hostingSlice(&p.coreParts, &p.providerParts, &p.sharedParts),
		noticesSlice(&p.coreParts, &p.sharedParts),
		auditSlice(&p.coreParts, &p.storeParts, &p.sharedParts),
		changesSlice(&p.coreParts, &p.sharedParts),
		skipsSlice(&p.coreParts, &p.sharedParts),
		operationsSlice(&p.coreParts, &p.statusParts, &p.storeParts),
	}
}

// Registry returns the registry of every event type of every slice.
func Registry() (*eventlog.Registry, error) {
	types := []eventlog.Type{eventlog.LogOpenedType()}
	for _, s := range allSlices(&parts{}) {
		types = append(types, s.events...)
	}
	return eventlog.NewRegistry(types...)
}

// ReadModels returns the projections of every slice.
func ReadModels() []feed.Projection {
	var all []feed.Projection
	for _, s := range allSlices(&parts{}) {
		all = append(all, s.readModels...)
	}
	return all
}

// openSlices opens every slice and returns all of them as one service.
func openSlices(p *parts) (service, error) {
	var all service
	for _, s := range allSlices(p) {
		one, err := s.open()
		if err != nil {
			return service{}, fmt.Errorf("opening %s: %w", s.name, err)
		}
		if one.close != nil {
			p.onClose(s.name, one.close)
		}
		all.public = append(all.public, one.public...)
		all.admin = append(all.admin, one.admin...)
		all.toDos = append(all.toDos, one.toDos...)
		all.byPlan = append(all.byPlan, one.byPlan...)
		all.slow = append(all.slow, one.slow...)
		all.bursts = append(all.bursts, one.bursts...)
		all.jobs = append(all.jobs, one.jobs...)
		all.checks = append(all.checks, one.checks...)
		all.collectors = append(all.collectors, one.collectors...)
		all.ends = append(all.ends, one.ends...)
		all.erases = append(all.erases, one.erases...)
		all.awaits = append(all.awaits, one.awaits...)
	}
	p.ends, p.erases = all.ends, slices.Concat(all.erases, []closing{p.keys.Erase}, all.awaits)
	return all, requireReadModels(p.projector, all)
}

// requireReadModels returns an error if a route or a process uses a read model or a view that no slice has, or if two
// processes have the same name.
func requireReadModels(projector *feed.Projector, all service) error {
	for _, route := range slices.Concat(all.public, all.admin) {
		if err := errors.Join(projector.RequiresModels(route.ReadModels...), projector.Requires(route.Views...)); err != nil {
			return fmt.Errorf("route %s %s: %w", route.Method, route.Path, err)
		}
	}
	seen := map[string]bool{}
	for _, t := range slices.Concat(all.toDos, all.byPlan, all.slow, all.bursts) {
		if err := projector.Requires(t.view.View); err != nil {
			return fmt.Errorf("to-do list %s: %w", t.process, err)
		}
		if seen[t.process] || t.view.Name != "todo_"+t.process {
			return fmt.Errorf("to-do list %s: its view is todo_%[1]s, and no other slice has a process of this name", t.process)
		}
		seen[t.process] = true
	}
	return nil
}

// parts are the parts that slices depend on. Each slice gets its own selection in allSlices, as pointers, because the
// slices are listed before the parts are open.
type parts struct {
	coreParts
	statusParts
	storeParts
	workerParts
	providerParts
	sharedParts
}

// coreParts are the parts for commands, readers and checks.
type coreParts struct {
	cfg       Config
	log       *slog.Logger
	running   *lifecycle.Group
	secrets   secrets
	tokens    []operators.Token // of the admin address
	metrics   *metrics
	journal   *journal.Journal
	time      planTime
	identity  eventlog.Identity // of the log
	keys      *pgkeys.Keyring
	projector *feed.Projector
	rates     *rates.Limiter // of requests that append to the log
}

// statusParts are the parts with the state of this instance.
type statusParts struct {
	readiness readiness
	health    *health.Board
	openAlert *openalerts.API // reads open alerts
	drain     *drain
}

// storeParts are the stores of data.
type storeParts struct {
	folder   *datafolder.Folder
	pool     *pgxpool.Pool
	database chan struct{}       // closed when Postgres has answered and is verified
	locks    *pglist.LeaderLocks // of the to-do workers, and of other work of a single instance
	keyring  *keyring.Keyring    // the keyring of the log
	blobs    blobs.Store
	spool    *spool.Spool // of collected replies and clips
	uploads  *spool.Spool // of uploads
}

// workerParts are the processes that speak, encode and decode.
type workerParts struct {
	engines  *worker.Pool
	second   *worker.Pool // the engine of the blizzard models
	codecs   *codec.Pool
	japanese *reader.Reader
	speaker  *speech.Speaker
	// of voices that operators install, which the catalogue has beside the system voices
	installed *installed.Engines
	catalogue *speech.Catalogue
	encoders  audio.Encoders
	decoder   *decode.Pool // of uploads
	listener  precheck.Listener
}

// providerParts are the external providers.
type providerParts struct {
	standIns *standIns // the providers for development; nil for none
	payments payments.Gateway
	notices  notices
}

// sharedParts are the parts that slices share; each slice sets its own.
type sharedParts struct {
	accounts *accounts.Accounts
	acts     *writeaudit.Acts // of operators and auditors
	sessions *sessions.Sessions
	alerts   *alerts.Alerts
	ledger   *ledger.Ledger
	clips    *clips.Clips
	voices   *voices.Voices
	// the names of an account's voices
	voiceNames *readvoices.API
	// the accounts' pronunciations
	pronunciations *pronunciations.Pronunciations
	skips          *skips.Skips // the events that operators skip
	changes        *changes.Notifier
	wordTimes      *wordtimes.Store
	// For an account that closes: all ends are called, and then the erases in this order.
	ends, erases []closing
}

func (c *coreParts) onClose(part string, close func() error) {
	c.running.Add(lifecycle.Closing(part, close))
}

func (c *coreParts) links() links.Links { return links.New(c.cfg.PublicURL, c.secrets.links) }

func (c *coreParts) operatorSessions() *operators.Sessions {
	return operators.NewSessions(c.secrets.operators, c.tokens)
}

func (c *coreParts) generations() generations.IDs { return generations.New(c.secrets.generations) }
