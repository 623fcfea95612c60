package app

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/internal/events/eventnode"
	"github.com/recital-tts/recital/internal/http/web"
)

// The modes. Dev serves this machine alone and brings along whatever is not configured; prod serves others, and brings
// nothing along.
const (
	modeDev  = "dev"
	modeProd = "prod"
)

// Config holds all settings. Each field is a flag and an environment variable RECITAL_… of the same meaning, which
// settings.txt explains. A default is stated here and nowhere else; a field that is zero gets it in Open, unless zero
// has a meaning of its own (tag zero). The tag least has the smallest value, which is 0 without it.
//
// A secret X is set as it is, or as the path of a file (the field XFile, --x-file, RECITAL_X_FILE), which has one
// secret a line. Keys and tokens are always files. The tag secret says what of it is hidden where settings are shown.
type Config struct {
	Mode           string         `name:"mode" enum:"dev,prod" default:"dev"`
	HTTPAddr       string         `name:"http-addr" default:"127.0.0.1:8080"`
	AdminAddr      string         `name:"admin-addr" default:"127.0.0.1:8081"`
	PublicURL      string         `name:"public-url" placeholder:"https://HOST"`
	DataDir        string         `name:"data-dir" default:".recital"`
	TrustedProxies []string       `name:"trusted-proxies" placeholder:"10.0.0.0/8,…"`
	DrainDelay     *time.Duration `name:"drain-delay" placeholder:"5s"`

	EventStore      string        `name:"eventstore" secret:"password" placeholder:"esdb://HOST:2113"`
	EventStoreFile  string        `name:"eventstore-file"`
	EventNodeAddr   string        `name:"eventnode-addr" placeholder:"127.0.0.1:2113"`
	Unseal          bool          `name:"eventnode-unseal"`
	OutageReads     time.Duration `name:"outage-reads" default:"15s" zero:"off"`
	Postgres        string        `name:"postgres" secret:"password" placeholder:"postgres://…"`
	PostgresFile    string        `name:"postgres-file"`
	Blobs           string        `name:"blobs" placeholder:"/PATH"`
	S3AccessKey     string        `name:"s3-access-key" secret:"whole" placeholder:"ID"`
	S3AccessKeyFile string        `name:"s3-access-key-file"`
	S3SecretKey     string        `name:"s3-secret-key" secret:"whole" placeholder:"KEY"`
	S3SecretKeyFile string        `name:"s3-secret-key-file"`
	SpoolBudget     int           `name:"spool-budget" default:"4096" least:"256"`
	UploadBudget    int           `name:"upload-budget" default:"2048" least:"500"`

	OperatorTokenFile string        `name:"operator-token-file"`
	AuditorTokenFile  string        `name:"auditor-token-file"`
	MasterKeyFile     string        `name:"master-key-file"`
	SigningKeyFile    string        `name:"signing-key-file"`
	AuditKeyFile      string        `name:"audit-key-file"`
	AuditHeadInterval time.Duration `name:"audit-head-interval" default:"5m"`

	SpeechWorker  string        `name:"speechworker" placeholder:"PATH"`
	Engines       int           `name:"engines" default:"0"`
	Codecs        int           `name:"codecs" default:"0"`
	Alignments    int           `name:"alignments" default:"2"`
	EngineTimeout time.Duration `name:"engine-timeout" default:"15s" least:"1s"`
	LongestStream time.Duration `name:"longest-stream" default:"10m" least:"1s"`
	Concurrency   string        `name:"concurrency" default:"free=4"`

	AccountRate    string `name:"account-rate" default:"free=50,indie=500,pro=500,premium=500,enterprise=500"`
	AddressRate    int    `name:"address-rate" default:"500" zero:"off"`
	FailureRate    int    `name:"failure-rate" default:"10" zero:"off"`
	Connections    int    `name:"connections" default:"16384"`
	BodyBudget     int    `name:"body-budget" default:"268435456"`
	AccountSockets int    `name:"account-sockets" default:"100"`

	RedirectOrigins []string      `name:"redirect-origins" placeholder:"https://HOST,…"`
	SessionLength   time.Duration `name:"session-length" default:"720h" least:"10m"`
	SessionIdle     time.Duration `name:"session-idle" default:"168h" least:"10m"`
	AccountSessions int           `name:"account-sessions" default:"100"`
	IDP1            string        `name:"idp-1" placeholder:"ISSUER CLIENT_ID SECRET_FILE"`
	IDP2            string        `name:"idp-2" placeholder:"ISSUER CLIENT_ID SECRET_FILE"`
	IDP3            string        `name:"idp-3" placeholder:"ISSUER CLIENT_ID SECRET_FILE"`
	IDP4            string        `name:"idp-4" placeholder:"ISSUER CLIENT_ID SECRET_FILE"`
	CountryFile     string        `name:"country-file" placeholder:"PATH"`
	CountryHeader   string        `name:"country-header" placeholder:"CF-IPCountry"`

	StripeKey           string        `name:"stripe-key" secret:"whole" placeholder:"sk_…"`
	StripeKeyFile       string        `name:"stripe-key-file"`
	StripeSecret        []string      `name:"stripe-webhook-secret" secret:"whole" placeholder:"whsec_…,…"`
	StripeSecretFile    string        `name:"stripe-webhook-secret-file"`
	AnalyticsSecret     []string      `name:"stripe-analytics-secret" secret:"whole" placeholder:"whsec_…,…"`
	AnalyticsSecretFile string        `name:"stripe-analytics-secret-file"`
	StripeURL           string        `name:"stripe-url" placeholder:"https://HOST"`
	StripeCoupon        string        `name:"stripe-coupon" placeholder:"ID"`
	Dunning             time.Duration `name:"dunning" default:"336h"`

	HostingClient     string `name:"hosting-client-id" placeholder:"oac_…"`
	HostingSecret     string `name:"hosting-client-secret" secret:"whole"`
	HostingSecretFile string `name:"hosting-client-secret-file"`
	HostingRedirect   string `name:"hosting-redirect-url" placeholder:"https://HOST/PATH"`
	HostingURL        string `name:"hosting-url" placeholder:"https://HOST"`

	LogFormat     string  `name:"log-format" enum:"text,json" default:"text"`
	LogLevel      string  `name:"log-level" enum:"debug,info,warn,error" default:"info"`
	TraceEndpoint string  `name:"otlp-endpoint" env:"OTEL_EXPORTER_OTLP_ENDPOINT" placeholder:"http://HOST:4318"`
	AlertDisk     float64 `name:"alert-disk" default:"95"`

	IDPAddr     string `name:"idp-addr" default:"127.0.0.1:8082"`
	SandboxAddr string `name:"sandbox-addr" default:"127.0.0.1:8083"`
	HostingAddr string `name:"hosting-addr" default:"127.0.0.1:8084"`

	Tuning `kong:"-"`
	Given  map[string]string `kong:"-"` // where the settings that are not defaults are from, by flag
}

// Tuning holds what tests set and operators need not. Zero is the constant at the place of use.
type Tuning struct {
	AlertEvery    time.Duration
	AlertLag      time.Duration
	Reconcile     time.Duration
	SocketIdle    time.Duration
	SocketLength  time.Duration
	AddressConns  int
	AddressBodies int
}

// maxUpload is the maximum size of a request with recordings, in bytes.
const maxUpload = 250 << 20

const mib = 1 << 20

// longestReservation is more than a reply can take, whatever is set: it is interrupted after LongestStream, then waits
// for a client that does not read the piece being written, and is settled. So no reservation expires before it is
// settled.
func (c Config) longestReservation() time.Duration {
	return c.LongestStream + c.LongestStream/10 + longestPiece*c.writeTimeout() + synthesis.SettleTimeout
}

// longestPiece is how many write timeouts a piece of audio can take, which has at most so many times 64 KiB.
const longestPiece = 2

// writeTimeout is how long a client may take to read 64 KiB.
func (c Config) writeTimeout() time.Duration { return min(c.LongestStream, 30*time.Second) }

// alertEvery returns how often this instance looks for conditions that raise an alert.
func (c Config) alertEvery() time.Duration { return cmp.Or(c.AlertEvery, 5*time.Second) }

// diskLimit returns how full a disk may be. The floor is twice the embedded node's: an alert comes before a write
// fails.
func (c Config) diskLimit() diskLimit {
	limit := diskLimit{percent: c.AlertDisk}
	if c.EventStore == "" {
		limit.floor = 2 * eventnode.SpaceReserve
	}
	return limit
}

// lagLimit returns how far a read model may be behind the log before an alert is raised.
func (c Config) lagLimit() time.Duration { return cmp.Or(c.AlertLag, time.Minute) }

const (
	failureLimit = 10.0            // per cent of the last five minutes' speech that may fail before an alert is raised
	expiryLimit  = 504 * time.Hour // before a certificate ends, an alert is raised
)

// defaultDrainDelay is that of mode prod. In dev no balancer is there to notice.
const defaultDrainDelay = 5 * time.Second

func (c Config) drainDelay() time.Duration {
	switch {
	case c.DrainDelay != nil:
		return max(*c.DrainDelay, 0)
	case c.Mode == modeProd:
		return defaultDrainDelay
	}
	return 0
}

func (c Config) limits() web.Limits {
	return web.Limits{
		Connections: c.Connections, AddressConnections: c.AddressConns,
		Bodies: c.BodyBudget, AddressBodies: c.AddressBodies, Uploads: c.UploadBudget * mib,
		Stream: c.LongestStream, WriteTimeout: c.writeTimeout(),
		AccountSockets: c.AccountSockets, SocketIdle: c.SocketIdle, SocketLength: c.SocketLength,
	}
}

// speechWorker finds the binary that links the C libraries.
func (c Config) speechWorker() (string, error) {
	path := c.SpeechWorker
	if path == "" {
		self, err := os.Executable()
		if err != nil {
			return "", fmt.Errorf("finding the speechworker binary: %w", err)
		}
		path = filepath.Join(filepath.Dir(self), "speechworker")
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("no speechworker binary at %s; build it with make build, or set RECITAL_SPEECHWORKER: %w", path, err)
	}
	return path, nil
}
