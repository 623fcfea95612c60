package app

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

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
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/events/todo/pglist"
	"github.com/recital-tts/recital/internal/http/links"
	"github.com/recital-tts/recital/internal/http/rates"
	"github.com/recital-tts/recital/internal/http/spool"
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
