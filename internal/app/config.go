package app

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
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

// Config is all that can be set. Each field is a flag, and an environment variable of the same meaning.
type Config struct {
	Mode              string         `enum:"dev,prod" default:"dev" env:"RECITAL_MODE" help:"dev needs loopback addresses and brings along whatever is not configured; prod serves any address and refuses to start without --eventstore, --postgres, --public-url, both token files, the three key files, an identity provider, --redirect-origins, and the key and webhook secret of Stripe."`
	HTTPAddr          string         `name:"http-addr" default:"127.0.0.1:8080" env:"RECITAL_HTTP_ADDR" help:"Public address."`
	AdminAddr         string         `default:"127.0.0.1:8081" env:"RECITAL_ADMIN_ADDR" help:"Admin address: metrics and what recitalctl uses."`
	AuditKeyFile      string         `name:"audit-key-file" env:"RECITAL_AUDIT_KEY_FILE" placeholder:"PATH" help:"File of the key that signs the heads of the audit chain: 64 hex digits, the same for all instances; in dev made in the data folder when not set. recitalctl audit derive-key writes the one that earlier releases derived in prod."`
	AuditHeadEvents   int            `name:"audit-head-events" default:"1000" env:"RECITAL_AUDIT_HEAD_EVENTS" help:"After how many events of the log there is a signed head of the audit chain; 0 is 1000. The fewer, the more exactly a change is found."`
	AuditHeadInterval time.Duration  `name:"audit-head-interval" default:"5m" env:"RECITAL_AUDIT_HEAD_INTERVAL" help:"How often what is new in the log is signed; 0 is 5m. Changes of what is not signed yet are not found."`
	PublicURL         string         `name:"public-url" env:"RECITAL_PUBLIC_URL" placeholder:"https://HOST" help:"Where clients reach the public address, for the links in replies; in dev by default the host that they asked, over HTTP."`
	OperatorTokenFile string         `name:"operator-token-file" env:"RECITAL_OPERATOR_TOKEN_FILE" placeholder:"PATH" help:"File of the operators' token for the admin address, or of a line NAME ROLE HASH for each person (ROLE is operator or auditor, HASH the token's SHA-256 in hex); in dev made in the data folder when not set."`
	AuditorTokenFile  string         `name:"auditor-token-file" env:"RECITAL_AUDITOR_TOKEN_FILE" placeholder:"PATH" help:"File of the auditors' token for the admin address, or of lines as in the operators' file; in dev made in the data folder when not set."`
	MasterKeyFile     string         `name:"master-key-file" env:"RECITAL_MASTER_KEY_FILE" placeholder:"PATH" help:"File of the key that wraps the accounts' keys: 64 hex digits, the same for all instances; in dev made in the data folder when not set."`
	SigningKeyFile    string         `name:"signing-key-file" env:"RECITAL_SIGNING_KEY_FILE" placeholder:"PATH" help:"File of the key that signs links: 64 hex digits, the same for all instances; in dev made in the data folder when not set."`
	DataDir           string         `default:".recital" env:"RECITAL_DATA_DIR" help:"Folder of the embedded event node, the private Postgres, the blobs and the keys. When the API key in its file dev-api-key was revoked, delete that file, and the next start makes a new key."`
	Blobs             string         `name:"blobs" env:"RECITAL_BLOBS" placeholder:"/PATH" help:"Where the blobs (audio of clips) lie; several instances share them. A folder, or s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION: without an endpoint Amazon's, and plain http for mode dev and loopback, or with tls=false. By default blobs in the data folder."`
	S3AccessKey       string         `name:"s3-access-key" secret:"whole" env:"RECITAL_S3_ACCESS_KEY" placeholder:"ID" help:"Id of the key to the blobs in S3. Without keys they are looked for as AWS's tools do: in the environment (AWS_ACCESS_KEY_ID …), in ~/.aws/credentials, and in the role of the machine."`
	S3AccessKeyFile   string         `name:"s3-access-key-file" env:"RECITAL_S3_ACCESS_KEY_FILE" placeholder:"PATH" help:"File of that id, instead."`
	S3SecretKey       string         `name:"s3-secret-key" secret:"whole" env:"RECITAL_S3_SECRET_KEY" placeholder:"KEY" help:"The key to the blobs in S3."`
	S3SecretKeyFile   string         `name:"s3-secret-key-file" env:"RECITAL_S3_SECRET_KEY_FILE" placeholder:"PATH" help:"File of that key, instead."`
	EventStore        string         `name:"eventstore" secret:"password" env:"RECITAL_EVENTSTORE" placeholder:"esdb://HOST:2113" help:"EventStoreDB to use instead of the embedded node."`
	EventStoreFile    string         `name:"eventstore-file" env:"RECITAL_EVENTSTORE_FILE" placeholder:"PATH" help:"File of that address, which may hold a password, instead."`
	Unseal            bool           `name:"eventnode-unseal" env:"RECITAL_EVENTNODE_UNSEAL" help:"Goes on in the log of the embedded node although recitalctl log migrate --offline has moved it: from here on there are two logs."`
	EventNodeAddr     string         `name:"eventnode-addr" env:"RECITAL_EVENTNODE_ADDR" placeholder:"127.0.0.1:2113" help:"Opens the embedded node to other clients on loopback, too."`
	Postgres          string         `secret:"password" env:"RECITAL_POSTGRES" placeholder:"postgres://…" help:"Postgres to use instead of a private cluster."`
	PostgresFile      string         `name:"postgres-file" env:"RECITAL_POSTGRES_FILE" placeholder:"PATH" help:"File of that address, which may hold a password, instead."`
	SpeechWorker      string         `name:"speechworker" env:"RECITAL_SPEECHWORKER" placeholder:"PATH" help:"The speechworker binary; by default the one beside recitald."`
	Engines           int            `default:"0" env:"RECITAL_ENGINES" help:"Speech engine processes; 0 is one for each CPU, at least 2."`
	Codecs            int            `default:"0" env:"RECITAL_CODECS" help:"Codec processes; 0 is one for each CPU."`
	Decoders          int            `default:"0" env:"RECITAL_DECODERS" help:"How many uploads may be decoded at once, each in a process of its own; 0 is one for each CPU. Others wait."`
	Clonings          int            `default:"0" env:"RECITAL_CLONINGS" help:"How many voices may be made at once, and half as many professional ones trained beside, at least one; 0 is one for each CPU. Others wait; one account has half of the places at most. While it is made, a voice takes up to twice the size of its largest recording on disk."`
	VoiceAudio        time.Duration  `name:"voice-audio" default:"3h" env:"RECITAL_VOICE_AUDIO" help:"How much audio a voice may be made of, all its recordings together; 0 is 3h."`
	AccountVoices     int            `name:"account-voices" default:"10000" env:"RECITAL_ACCOUNT_VOICES" help:"How many voices one account may have, whatever its plan; 0 is 10000."`
	Alignments        int            `default:"2" env:"RECITAL_ALIGNMENTS" help:"How many recordings may be aligned with their text at once, one of each address; 0 is 2. Each takes up to 300 MiB of memory. Beyond, requests get 503, and 429 where the address has one."`
	EngineTimeout     time.Duration  `default:"15s" env:"RECITAL_ENGINE_TIMEOUT" help:"How long a speech engine may take for one segment before it is killed as stalled; 0 is 15s."`
	CodecTimeout      time.Duration  `default:"10s" env:"RECITAL_CODEC_TIMEOUT" help:"How long a codec may take for one request before it is killed as stalled; 0 is 10s."`
	LongestStream     time.Duration  `default:"10m" env:"RECITAL_LONGEST_STREAM" help:"How long a reply may take; it is cut then, and pays for what was delivered."`
	OutageReads       time.Duration  `default:"15s" env:"RECITAL_OUTAGE_READS" help:"How long reads go on while the event store does not answer, with the API keys that were good when it answered last; 0 is not at all."`
	Concurrency       string         `default:"free=4" env:"RECITAL_CONCURRENCY" help:"How many syntheses of one account may run at once, as PLAN=NUMBER,… (free, indie, pro, premium, enterprise); 0 is no limit, and plans that are not named keep their defaults. Each instance counts its own."`
	AccountRate       string         `default:"free=50" env:"RECITAL_ACCOUNT_RATE" help:"How many requests of one account a second may append to the log, after a burst of four times as many: PLAN=NUMBER,… (500 for the plans that are not named); 0 is no limit. Each instance counts its own."`
	AddressRate       int            `default:"500" env:"RECITAL_ADDRESS_RATE" help:"The same for the requests from one address (of IPv6: a /64); 0 is no limit, which is right behind a proxy, whose clients all have its address."`
	SpoolBudget       int            `default:"4096" env:"RECITAL_SPOOL_BUDGET" help:"MiB of the data folder's disk that replies in JSON may take until they are sent, and clips until they are saved; 0 is 4096, the least is 256. An account has a quarter of it. Above, requests are answered with 503."`
	UploadSize        int            `default:"250" env:"RECITAL_UPLOAD_SIZE" help:"MiB that a request with recordings may have; 0 is 250."`
	UploadBudget      int            `default:"2048" env:"RECITAL_UPLOAD_BUDGET" help:"MiB of the data folder's disk that recordings may take while they are received and answered, as they are announced; 0 is 2048, the least is twice the size of an upload. An account has a quarter of it, and an address a half; beyond, requests get 429, or 503 where all is taken."`
	ClipSaveTimeout   time.Duration  `default:"10s" env:"RECITAL_CLIP_SAVE_TIMEOUT" help:"How long the end of a reply waits for its clip to be saved; then the reply ends without the clip. 0 is 10s."`
	AccountSockets    int            `default:"100" env:"RECITAL_ACCOUNT_SOCKETS" help:"How many WebSockets of one account may be open at once; 0 is 100. Each instance counts its own."`
	SocketIdle        time.Duration  `default:"5m" env:"RECITAL_SOCKET_IDLE" help:"How long a WebSocket may be open without a message in either direction; 0 is 5m."`
	SocketLength      time.Duration  `default:"1h" env:"RECITAL_SOCKET_LENGTH" help:"How long a WebSocket may be open; 0 is 1h."`
	FailureRate       int            `default:"10" env:"RECITAL_FAILURE_RATE" help:"How many wrong credentials one address a second may show, after a burst of four times as many, before it gets 429 for them; 0 is no limit. Right ones are admitted all the same."`
	TrustedProxies    []string       `env:"RECITAL_TRUSTED_PROXIES" placeholder:"10.0.0.0/8,…" help:"Addresses and networks of the proxies in front: the rightmost address in X-Forwarded-For that is none of theirs counts as the client, for all limits by address."`
	RedirectOrigins   []string       `env:"RECITAL_REDIRECT_ORIGINS" placeholder:"https://HOST,…" help:"Origins of the pages that may use the session of a browser, and where a sign-in may lead."`
	CountryFile       string         `name:"country-file" env:"RECITAL_COUNTRY_FILE" placeholder:"PATH" help:"A database of countries in MaxMind's format (GeoLite2-Country.mmdb or the like), for the list of sessions."`
	CountryHeader     string         `name:"country-header" env:"RECITAL_COUNTRY_HEADER" placeholder:"CF-IPCountry" help:"The header in which the trusted proxies say the client's country; it goes before the file."`
	SessionLength     time.Duration  `default:"720h" env:"RECITAL_SESSION_LENGTH" help:"How long a browser stays signed in, however much it is used; 0 is 720h."`
	SessionIdle       time.Duration  `default:"168h" env:"RECITAL_SESSION_IDLE" help:"How long a browser stays signed in without a request, to within 5 minutes; 0 is 168h, the least is 10m."`
	SessionRotation   time.Duration  `default:"24h" env:"RECITAL_SESSION_ROTATION" help:"After how long the secret in a browser's cookie is replaced; 0 is 24h, the least is 10m. The one before is valid for another minute."`
	AccountSessions   int            `default:"100" env:"RECITAL_ACCOUNT_SESSIONS" help:"How many browsers of one account may be signed in at once; 0 is 100. Beyond, the oldest session ends."`
	IDP1              string         `name:"idp-1" env:"RECITAL_IDP_1" placeholder:"ISSUER CLIENT_ID SECRET_FILE" help:"The identity provider idp_1: its issuer (OpenID Connect), the id of our client there, and the file of the client's secret. In dev a provider for development stands behind those that are not set."`
	IDP2              string         `name:"idp-2" env:"RECITAL_IDP_2" placeholder:"ISSUER CLIENT_ID SECRET_FILE" help:"The same for idp_2."`
	IDP3              string         `name:"idp-3" env:"RECITAL_IDP_3" placeholder:"ISSUER CLIENT_ID SECRET_FILE" help:"The same for idp_3."`
	IDP4              string         `name:"idp-4" env:"RECITAL_IDP_4" placeholder:"ISSUER CLIENT_ID SECRET_FILE" help:"The same for idp_4."`
	IDPAddr           string         `name:"idp-addr" default:"127.0.0.1:8082" env:"RECITAL_IDP_ADDR" help:"Address of the identity provider for development, on loopback; where the port is taken, a free one is used. It is part of the issuers, so who signs in at another port is somebody else."`
	StripeKey         string         `name:"stripe-key" secret:"whole" env:"RECITAL_STRIPE_KEY" placeholder:"sk_…" help:"Secret key of the payment provider Stripe. In dev a provider for development (the sandbox) takes its place when it is not set."`
	StripeKeyFile     string         `name:"stripe-key-file" env:"RECITAL_STRIPE_KEY_FILE" placeholder:"PATH" help:"File of that key, instead."`
	StripeSecret      []string       `name:"stripe-webhook-secret" secret:"whole" env:"RECITAL_STRIPE_WEBHOOK_SECRET" placeholder:"whsec_…,…" help:"Secret that signs the provider's webhooks to /payments/webhook; two while one replaces the other. The endpoint's API version must be of the release train of 2026-02-25.clover."`
	StripeSecretFile  string         `name:"stripe-webhook-secret-file" env:"RECITAL_STRIPE_WEBHOOK_SECRET_FILE" placeholder:"PATH" help:"File of these secrets, one a line, instead."`
	AnalyticsSecret   []string       `name:"stripe-analytics-secret" secret:"whole" env:"RECITAL_STRIPE_ANALYTICS_SECRET" placeholder:"whsec_…,…" help:"The same for /payments/webhook/analytics; by default those of the other webhooks."`
	AnalyticsFile     string         `name:"stripe-analytics-secret-file" env:"RECITAL_STRIPE_ANALYTICS_SECRET_FILE" placeholder:"PATH" help:"File of these secrets, one a line, instead."`
	StripeURL         string         `name:"stripe-url" env:"RECITAL_STRIPE_URL" placeholder:"https://HOST" help:"Another server that speaks Stripe's API: in dev, for a second instance, the sandbox of the first (both have one signing key)."`
	StripeCoupon      string         `name:"stripe-coupon" env:"RECITAL_STRIPE_COUPON" placeholder:"ID" help:"Coupon for the first subscription of an account."`
	SandboxAddr       string         `name:"sandbox-addr" default:"127.0.0.1:8083" env:"RECITAL_SANDBOX_ADDR" help:"Address of the payment provider for development, on loopback; where the port is taken, a free one is used."`
	HostingClient     string         `name:"hosting-client-id" env:"RECITAL_HOSTING_CLIENT_ID" placeholder:"oac_…" help:"Id of our integration on the hosting platform Vercel. When it is not set, a platform for development takes its place in dev, and prod offers none."`
	HostingSecret     string         `name:"hosting-client-secret" secret:"whole" env:"RECITAL_HOSTING_CLIENT_SECRET" help:"Secret of that integration."`
	HostingSecretFile string         `name:"hosting-client-secret-file" env:"RECITAL_HOSTING_CLIENT_SECRET_FILE" placeholder:"PATH" help:"File of that secret, instead."`
	HostingRedirect   string         `name:"hosting-redirect-url" env:"RECITAL_HOSTING_REDIRECT_URL" placeholder:"https://HOST/PATH" help:"The redirect URL of that integration: where the platform sends browsers with a code."`
	HostingURL        string         `name:"hosting-url" env:"RECITAL_HOSTING_URL" placeholder:"https://HOST" help:"Another server that speaks Vercel's API."`
	HostingAddr       string         `name:"hosting-addr" default:"127.0.0.1:8084" env:"RECITAL_HOSTING_ADDR" help:"Address of the hosting platform for development, on loopback; where the port is taken, a free one is used."`
	Dunning           time.Duration  `default:"336h" env:"RECITAL_DUNNING" help:"How long an account keeps its plan while a payment is missing; 0 is 336h."`
	Reconcile         time.Duration  `default:"1h" env:"RECITAL_RECONCILE" help:"How often what the log knows is compared with the payment provider, beside the start; 0 is 1h."`
	DrainDelay        *time.Duration `env:"RECITAL_DRAIN_DELAY" placeholder:"5s" help:"How long requests are served on once this instance is not ready because it ends or is drained: what a balancer needs to notice. By default 5s in prod and none in dev."`
	Connections       int            `default:"16384" env:"RECITAL_CONNECTIONS" help:"How many connections to the public address may be open at once; 0 is 16384. Beyond, those that have been idle for the longest are closed; when all are busy, new ones get 503, health checks apart."`
	AddressConns      int            `name:"address-connections" default:"0" env:"RECITAL_ADDRESS_CONNECTIONS" help:"How many of them one address may have (an IPv6 network of 64 bits counts as one); 0 is three quarters. A balancer in front is one address."`
	BodyBudget        int            `default:"268435456" env:"RECITAL_BODY_BUDGET" help:"How many bytes of memory the bodies of requests may take at once, as they announce it; 0 is 256 MiB. Beyond, requests get 503. Bodies above 256 KiB have half of it."`
	AddressBodies     int            `default:"0" env:"RECITAL_ADDRESS_BODIES" help:"How many of these bytes one address may have; 0 is a quarter. Beyond, requests get 429. A balancer in front is one address."`
	MinRate           int            `default:"8192" env:"RECITAL_MIN_RATE" help:"How many bytes a second a client must at least send of a body, after 15 s, and take of a finished reply, after 30 s; 0 is 8192."`
	QuietEncoder      time.Duration  `default:"2s" env:"RECITAL_QUIET_ENCODER" help:"How long a WebSocket that has nothing to say keeps its encoder; 0 is 2s. Each codec process has room for 256."`
	AlertEvery        time.Duration  `name:"alert-every" default:"5s" env:"RECITAL_ALERT_EVERY" help:"How often this instance looks for what an operator should know; 0 is 5s. What is found three times in a row raises an alert."`
	AlertDisk         float64        `name:"alert-disk" default:"95" env:"RECITAL_ALERT_DISK" help:"How full, in per cent, the disk of the data folder or of the blobs may be before an alert is raised; 0 is 95."`
	AlertLag          time.Duration  `name:"alert-lag" default:"1m" env:"RECITAL_ALERT_LAG" help:"How far a read model may be behind the log before an alert is raised; 0 is 1m."`
	AlertFailures     float64        `name:"alert-failures" default:"10" env:"RECITAL_ALERT_FAILURES" help:"How many of the last five minutes' pieces of speech, in per cent, may fail before an alert is raised; 0 is 10."`
	AlertExpiry       time.Duration  `name:"alert-expiry" default:"504h" env:"RECITAL_ALERT_EXPIRY" help:"How long before a certificate ends an alert is raised; 0 is 504h."`
	TraceEndpoint     string         `name:"otlp-endpoint" env:"RECITAL_OTLP_ENDPOINT,OTEL_EXPORTER_OTLP_ENDPOINT" placeholder:"http://HOST:4318" help:"Where traces are sent, by OTLP over HTTP; by default none are made. Headers, timeouts, the share that is sampled and the service's name are in OpenTelemetry's own variables OTEL_…"`
	LogFormat         string         `enum:"text,json" default:"text" env:"RECITAL_LOG_FORMAT" help:"Form of the log on standard error (text or json)."`
	LogLevel          string         `enum:"debug,info,warn,error" default:"info" env:"RECITAL_LOG_LEVEL" help:"debug, info, warn or error."`

	Given map[string]string `kong:"-"` // where the settings that are not defaults are from, by flag
}

// Validate returns everything that cannot work or is not safe, as Mistakes.
func (c Config) Validate() error {
	var m Mistakes
	c.checkMode(&m)
	for _, l := range []struct{ flag, name, address string }{
		{"http-addr", "the public address", c.HTTPAddr}, {"admin-addr", "the admin address", c.AdminAddr},
	} {
		if err := c.checkListener(l.address); err != nil {
			m.add(l.flag, fmt.Errorf("%s %q: %w", l.name, l.address, err))
		}
	}
	m.when(c.HTTPAddr == c.AdminAddr && !strings.HasSuffix(c.AdminAddr, ":0"), "admin-addr", "it is the public address, too; each needs its own")
	c.checkPublicURL(&m)
	c.checkTwice(&m)
	c.checkBlobs(&m)
	c.checkBudgets(&m)
	c.checkAlerts(&m)
	c.checkSockets(&m)
	c.checkSessions(&m)
	c.checkSignIn(&m)
	c.checkPayments(&m)
	c.checkHosting(&m)
	c.checkConnections(&m)
	c.checkWorkers(&m)
	c.checkRates(&m)
	m.add("otlp-endpoint", c.checkTraces())
	m.when(c.AuditHeadEvents < 0, "audit-head-events", "it cannot be negative")
	m.when(c.AuditHeadInterval < 0, "audit-head-interval", "it cannot be negative")
	return m.all()
}

// checkFiles returns what is wrong with the files that are set, as Mistakes. Validate looks at no file.
func (c Config) checkFiles() error {
	var m Mistakes
	for _, s := range c.Settings() {
		if strings.HasSuffix(s.Flag, "-file") && s.Value != "" {
			m.add(s.Flag, checkFile(s.Value))
		}
	}
	for name, setting := range c.providers() {
		if _, _, file, err := splitProvider(setting); setting != "" && err == nil {
			m.add(strings.ReplaceAll(name, "_", "-"), checkFile(file))
		}
	}
	return m.all()
}

func checkFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("its file cannot be read: %w", err)
	}
	defer f.Close()
	if _, err := f.Read(make([]byte, 1)); err != nil {
		return fmt.Errorf("its file is empty or cannot be read: %w", err)
	}
	return nil
}

func (c Config) checkBudgets(m *Mistakes) {
	m.when(c.LongestStream < time.Second, "longest-stream", "the longest stream must be at least a second")
	m.when(c.OutageReads < 0, "outage-reads", "the time in which reads go on cannot be negative")
	m.when(c.SpoolBudget != 0 && c.SpoolBudget < 256, "spool-budget", "the spool's budget must be at least 256 MiB")
	m.when(c.UploadSize < 0, "upload-size", "the size of an upload cannot be negative")
	m.when(c.uploadBudget() < 2*c.uploadSize(), "upload-budget", "the budget of uploads must be at least twice the size of one")
	m.when(c.ClipSaveTimeout < 0, "clip-save-timeout", "the time for saving a clip cannot be negative")
}

func (c Config) checkConnections(m *Mistakes) {
	for flag, value := range map[string]int{
		"connections": c.Connections, "address-connections": c.AddressConns, "body-budget": c.BodyBudget, "address-bodies": c.AddressBodies, "min-rate": c.MinRate,
	} {
		m.when(value < 0, flag, "the limits of connections and bodies cannot be negative")
	}
}

func (c Config) checkWorkers(m *Mistakes) {
	for flag, value := range map[string]int{
		"engines": c.Engines, "codecs": c.Codecs, "decoders": c.Decoders, "alignments": c.Alignments, "clonings": c.Clonings,
	} {
		m.when(value < 0, flag, "the numbers of processes cannot be negative")
	}
	m.when(c.AccountVoices < 0, "account-voices", "the limits of voices cannot be negative")
	m.when(c.VoiceAudio < 0, "voice-audio", "the limits of voices cannot be negative")
	for flag, d := range map[string]time.Duration{"engine-timeout": c.EngineTimeout, "codec-timeout": c.CodecTimeout} {
		m.when(d != 0 && d < time.Second, flag, "the times of engines and codecs must be at least a second")
	}
}

func (c Config) checkSockets(m *Mistakes) {
	m.when(c.AccountSockets < 0, "account-sockets", "the number of an account's WebSockets cannot be negative")
	for flag, d := range map[string]time.Duration{"socket-idle": c.SocketIdle, "socket-length": c.SocketLength} {
		m.when(d != 0 && d < time.Second, flag, "the times of WebSockets must be at least a second")
	}
	m.when(c.QuietEncoder < 0, "quiet-encoder", "the time that a quiet WebSocket keeps its encoder cannot be negative")
}

// checkMode lists everything that mode prod lacks.
func (c Config) checkMode(m *Mistakes) {
	if c.Mode != modeProd {
		return
	}
	for _, need := range []struct{ value, flag, what string }{
		{cmp.Or(c.EventStore, c.EventStoreFile), "eventstore", "the connection string of an EventStoreDB or KurrentDB, or its file"},
		{cmp.Or(c.Postgres, c.PostgresFile), "postgres", "the address of a Postgres, or its file"},
		{c.OperatorTokenFile, "operator-token-file", "the file of the operators' token"},
		{c.AuditorTokenFile, "auditor-token-file", "the file of the auditors' token"},
		{c.MasterKeyFile, "master-key-file", "the file of the key that wraps the accounts' keys"},
		{c.SigningKeyFile, "signing-key-file", "the file of the key that signs links"},
		{c.AuditKeyFile, "audit-key-file", "the file of the key that signs the audit chain (of an installation without one: recitalctl audit derive-key)"},
		{c.PublicURL, "public-url", "where clients reach the public address"},
		{cmp.Or(c.IDP1, c.IDP2, c.IDP3, c.IDP4), "idp-1", "an identity provider, here or as RECITAL_IDP_2 to _4"},
		{strings.Join(c.RedirectOrigins, ""), "redirect-origins", "where a sign-in may lead"},
		{cmp.Or(c.StripeKey, c.StripeKeyFile), "stripe-key", "the key of the payment provider, or RECITAL_STRIPE_KEY_FILE"},
		{cmp.Or(strings.Join(c.StripeSecret, ""), c.StripeSecretFile), "stripe-webhook-secret", "the secret of its webhooks, or RECITAL_STRIPE_WEBHOOK_SECRET_FILE"},
	} {
		m.when(need.value == "", need.flag, "mode prod brings nothing along; set "+need.what)
	}
	m.when(c.EventNodeAddr != "", "eventnode-addr", "mode prod runs no embedded event node; leave it unset")
}

// checkTwice refuses what is set as it is and as a file.
func (c Config) checkTwice(m *Mistakes) {
	for _, s := range c.filedSecrets() {
		m.when(s.value != "" && s.file != "", s.flag, "it is set twice: as it is, and as a file (--"+s.flag+"-file)")
	}
}

// filedSecret is a secret that is set as it is, or as a file.
type filedSecret struct{ flag, value, file string }

func (c Config) filedSecrets() []filedSecret {
	return []filedSecret{
		{"eventstore", c.EventStore, c.EventStoreFile},
		{"postgres", c.Postgres, c.PostgresFile},
		{"s3-access-key", c.S3AccessKey, c.S3AccessKeyFile},
		{"s3-secret-key", c.S3SecretKey, c.S3SecretKeyFile},
		{"stripe-key", c.StripeKey, c.StripeKeyFile},
		{"stripe-webhook-secret", strings.Join(c.StripeSecret, " "), c.StripeSecretFile},
		{"stripe-analytics-secret", strings.Join(c.AnalyticsSecret, " "), c.AnalyticsFile},
		{"hosting-client-secret", c.HostingSecret, c.HostingSecretFile},
	}
}

// withAddresses returns the settings with the addresses that are in files.
func (c Config) withAddresses() (Config, error) {
	var store, postgres error
	c.EventStore, store = filed(c.EventStore, c.EventStoreFile)
	c.Postgres, postgres = filed(c.Postgres, c.PostgresFile)
	return c, errors.Join(store, postgres)
}

// filed returns a setting as it is set, or the text of its file.
func filed(value, file string) (string, error) {
	if file == "" {
		return value, nil
	}
	content, err := os.ReadFile(file)
	text := strings.TrimSpace(string(content))
	if err == nil && (text == "" || strings.ContainsAny(text, "\r\n")) {
		err = fmt.Errorf("%s does not have one line", file)
	}
	return text, err
}

// checkPublicURL takes an origin only: links are made by adding paths to it.
func (c Config) checkPublicURL(m *Mistakes) {
	if c.PublicURL == "" {
		return
	}
	u, err := url.Parse(c.PublicURL)
	m.when(err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "",
		"public-url", "the public URL must be http(s)://HOST or http(s)://HOST:PORT")
}

func (c Config) checkListener(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("not HOST:PORT: %w", err)
	}
	if c.Mode == modeProd || host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return errors.New("dev mode serves on loopback addresses only")
	}
	return nil
}

// longestReservation is more than a reply can take, whatever is set: it is interrupted after LongestStream, then waits
// for a client that does not read the piece being written, and is settled. So no reservation expires before it is settled.
func (c Config) longestReservation() time.Duration {
	return c.LongestStream + c.LongestStream/10 + longestPiece*c.writeTimeout() + synthesis.SettleTimeout
}

// longestPiece is how many write timeouts a piece of audio can take, which has at most so many times 64 KiB.
const longestPiece = 2

// writeTimeout is how long a client may take to read 64 KiB.
func (c Config) writeTimeout() time.Duration { return min(c.LongestStream, 30*time.Second) }

// The limits of alerts.
func (c Config) alertEvery() time.Duration { return cmp.Or(c.AlertEvery, 5*time.Second) }

// diskLimit returns how full a disk may be. The floor is twice the embedded node's: an alert comes before a write fails.
func (c Config) diskLimit() diskLimit {
	limit := diskLimit{percent: cmp.Or(c.AlertDisk, 95)}
	if c.EventStore == "" {
		limit.floor = 2 * eventnode.SpaceReserve
	}
	return limit
}

func (c Config) lagLimit() time.Duration    { return cmp.Or(c.AlertLag, time.Minute) }
func (c Config) failureLimit() float64      { return cmp.Or(c.AlertFailures, 10) }
func (c Config) expiryLimit() time.Duration { return cmp.Or(c.AlertExpiry, 504*time.Hour) }

func (c Config) checkAlerts(m *Mistakes) {
	for flag, d := range map[string]time.Duration{"alert-every": c.AlertEvery, "alert-lag": c.AlertLag, "alert-expiry": c.AlertExpiry} {
		m.when(d < 0, flag, "the times of alerts cannot be negative")
	}
	for flag, share := range map[string]float64{"alert-disk": c.AlertDisk, "alert-failures": c.AlertFailures} {
		m.when(share < 0 || share > 100, flag, "the limits of alerts are between 0 and 100 per cent")
	}
}

// clipSaveTimeout is how long a store may take for a clip.
func (c Config) clipSaveTimeout() time.Duration { return cmp.Or(c.ClipSaveTimeout, 10*time.Second) }

// alignments is how many recordings are aligned at once.
func (c Config) alignments() int { return cmp.Or(c.Alignments, 2) }

// spoolBudget returns bytes.
func (c Config) spoolBudget() int64 { return int64(cmp.Or(c.SpoolBudget, 4096)) << 20 }

// uploadSize returns bytes.
func (c Config) uploadSize() int64 { return int64(cmp.Or(c.UploadSize, 250)) << 20 }

// uploadBudget returns bytes.
func (c Config) uploadBudget() int64 { return int64(cmp.Or(c.UploadBudget, 2048)) << 20 }

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
		Bodies: c.BodyBudget, AddressBodies: c.AddressBodies, Rate: c.MinRate, Uploads: int(c.uploadBudget()),
		Stream: c.LongestStream, WriteTimeout: c.writeTimeout(), AccountSockets: c.AccountSockets, SocketIdle: c.SocketIdle, SocketLength: c.SocketLength,
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
