package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/alerts"
	"github.com/recital-tts/recital/commands/audit"
	"github.com/recital-tts/recital/commands/clips"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/commands/keyring"
	"github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/commands/sessions"
	"github.com/recital-tts/recital/commands/skips"
	"github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/internal/access/credentials"
	"github.com/recital-tts/recital/internal/access/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/access/operators"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventnode"
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
	"github.com/recital-tts/recital/internal/process/tracing"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/payments"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/codec"
	"github.com/recital-tts/recital/internal/speech/audio/decode"
	"github.com/recital-tts/recital/internal/speech/generations"
	"github.com/recital-tts/recital/internal/speech/wordtimes"
	"github.com/recital-tts/recital/internal/speech/worker"
	openalerts "github.com/recital-tts/recital/readapi/alerts"
	writeaudit "github.com/recital-tts/recital/writeapi/audit"
)

// slice is an area of the service, all of it in one value. What it declares needs nothing to run; what it opens has its
// commands and readers.
type slice struct {
	name       string
	events     []eventlog.Type
	readModels []feed.Projection
	open       func(*parts) (service, error)
}

// service is a slice that is open. Its start, its end and its figures follow from what is listed here; so do the
// headers that scripts in browsers may read, from what the routes declare.
type service struct {
	public []web.Route
	admin  []web.Route
	toDos  []toDo
	slow   []toDo // those whose items take minutes, so that instances which do not lead take over later
	jobs   []job
	// checks look at what an operator should know.
	checks []health.Check
	// collectors are the slice's metrics.
	collectors []prometheus.Collector
	close      func() error // ends what open has started; nil where that is nothing
	// ends and erases are what the slice ends, and then erases, for an account that closes. awaits are what a to-do of
	// the slice's own erases: each returns a *todo.NotYetError until it has.
	ends, erases, awaits []closing
}

// closing is carried out when an account closes. It may be called again for an account that it has dealt with.
type closing func(ctx context.Context, account string) error

// toDo is a process with the view that lists what is due.
type toDo struct {
	process string
	view    readmodel.ToDo
	do      func(ctx context.Context, item todo.Item) (eventlog.Position, error)
}

// job runs at the start and then every so often. What fails is logged, and tried again at the next time.
type job struct {
	name    string
	every   time.Duration
	current bool // waits for read models that have caught up
	run     func(ctx context.Context) error
}

// allSlices is the only list of slices. They are opened in this order: a slice may use the commands of one before it.
func allSlices() []slice {
	return []slice{
		accountsSlice(),
		sessionsSlice(),
		alertsSlice(),
		keyringSlice(),
		backupSlice(),
		ledgerSlice(),
		paymentsSlice(),
		billingSlice(),
		signinSlice(),
		clipsSlice(),
		voicesSlice(),
		synthesisSlice(),
		alignmentSlice(),
		feedbackSlice(),
		hostingSlice(),
		auditSlice(),
		skipsSlice(),
		operationsSlice(),
	}
}

// Registry returns the registry of every event type of every slice.
func Registry() (*eventlog.Registry, error) {
	types := []eventlog.Type{eventlog.LogOpenedType()}
	for _, s := range allSlices() {
		types = append(types, s.events...)
	}
	return eventlog.NewRegistry(types...)
}

// ReadModels returns the projections of every slice.
func ReadModels() []feed.Projection {
	var all []feed.Projection
	for _, s := range allSlices() {
		all = append(all, s.readModels...)
	}
	return all
}

// openSlices opens every slice and returns what they come to together.
func openSlices(p *parts) (service, error) {
	var all service
	for _, s := range allSlices() {
		if s.open == nil {
			continue
		}
		one, err := s.open(p)
		if err != nil {
			return service{}, fmt.Errorf("opening %s: %w", s.name, err)
		}
		if one.close != nil {
			p.onClose(s.name, one.close)
		}
		all.public = append(all.public, one.public...)
		all.admin = append(all.admin, one.admin...)
		all.toDos = append(all.toDos, one.toDos...)
		all.slow = append(all.slow, one.slow...)
		all.jobs = append(all.jobs, one.jobs...)
		all.checks = append(all.checks, one.checks...)
		all.collectors = append(all.collectors, one.collectors...)
		all.ends = append(all.ends, one.ends...)
		all.erases = append(all.erases, one.erases...)
		all.awaits = append(all.awaits, one.awaits...)
	}
	p.closings, p.awaited = slices.Concat(all.ends, all.erases), all.awaits
	return all, requireReadModels(p.projector, all)
}

// requireReadModels refuses a route or a process that names a read model or a view which no slice has, and two
// processes of one name.
func requireReadModels(projector *feed.Projector, all service) error {
	for _, route := range slices.Concat(all.public, all.admin) {
		if err := errors.Join(projector.RequiresModels(route.ReadModels...), projector.Requires(route.Views...)); err != nil {
			return fmt.Errorf("route %s %s: %w", route.Method, route.Path, err)
		}
	}
	seen := map[string]bool{}
	for _, t := range slices.Concat(all.toDos, all.slow) {
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

// parts are what the slices rest on, in the order in which they are opened.
type parts struct {
	cfg     Config
	log     *slog.Logger
	running *lifecycle.Group

	folder      *datafolder.Folder
	tokens      []operators.Token // of the admin address
	secrets     secrets
	journal     *journal.Journal
	skips       *skips.Skips      // the events that operators skip
	identity    eventlog.Identity // of the log
	entrance    *pgxpool.Pool     // connects before the database is known to fit
	pool        *pgxpool.Pool     // connects from then on
	database    chan struct{}     // is closed when Postgres has answered, and what is in it fits
	keys        *pgkeys.Keyring
	found       *pgkeys.Keyring  // that in Postgres, even if it is not the log's
	keyring     *keyring.Keyring // says which one is
	blobs       blobs.Store
	blobStore   *watchedBlobs
	blobJobs    []job        // of the store that is configured
	spool       *spool.Spool // of what is collected
	uploads     *spool.Spool // of what is received
	wordTimes   *wordtimes.Shelf
	engines     *worker.Pool
	second      *worker.Pool // the engine of the blizzard models
	codecs      *codec.Pool
	speaker     *speech.Speaker
	encoders    audio.Encoders
	decoder     *decode.Pool // of uploads
	metrics     *metrics
	traces      *tracing.Tracer // nil where none are exported
	projector   *feed.Projector
	health      *health.Board
	openAlert   *openalerts.API     // reads what is open
	noticeCount noticeCounter       // of the payment provider's
	moved       todo.Notifier       // of the to-do workers, when the read models have advanced
	locks       *pglist.LeaderLocks // of the to-do workers, and of what else one instance does for all
	credentials *credentials.Watcher
	rates       *rates.Limiter // of what appends to the log
	payments    payments.Gateway
	notices     notices
	standIns    *standIns // the providers for development; nil without
	hostingAt   string    // URL of the hosting platform for development; "" where another is used, or none
	readiness   readiness
	drain       *drain

	nodeStats    func() eventnode.Stats // nil where no event node is embedded
	heads        *audit.Heads           // of the audit chain
	storeSilence func() time.Duration   // for how long the event store has answered nothing

	admitPostgres  func()      // lets pool connect
	holdPostgres   func()      // ends that
	knownKeyring   string      // id of the keyring in Postgres, once that was admitted
	prepared       sync.Once   // closes database
	foreignKeyring atomic.Bool // Postgres has another keyring than the log's

	closings []closing // what the slices end, and then erase, for an account that closes
	awaited  []closing // what their to-dos erase

	// The commands that more than one slice uses; each slice sets its own.
	accounts *accounts.Accounts
	acts     *writeaudit.Acts // of operators and auditors
	sessions *sessions.Sessions
	alerts   *alerts.Alerts
	ledger   *ledger.Ledger
	clips    *clips.Clips
	voices   *voices.Voices
}

func (p *parts) onClose(part string, close func() error) {
	p.running.Add(lifecycle.Closing(part, close))
}

func (p *parts) links() links.Links { return links.New(p.cfg.PublicURL, p.secrets.links) }

func (p *parts) generations() generations.IDs { return generations.New(p.secrets.generations) }
