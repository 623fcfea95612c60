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
	"github.com/recital-tts/recital/internal/web"
)

// The modes. Dev serves this machine alone and brings along whatever is not configured; prod serves others, and brings
// nothing along.
const (
	modeDev  = "dev"
	modeProd = "prod"
)

// Config is all that can be set. Each field is a flag, and an environment variable of the same meaning.
type Config struct {
	Mode              string         `enum:"dev,prod" default:"dev" env:"RECITAL_MODE" help:"dev needs loopback addresses and brings along whatever is not configured; prod serves any address and refuses to start without --eventstore, --postgres, --public-url, both token files, both key files, an identity provider, --redirect-origins, and the key and webhook secret of Stripe."`
	HTTPAddr          string         `name:"http-addr" default:"127.0.0.1:8080" env:"RECITAL_HTTP_ADDR" help:"Public address."`
	AdminAddr         string         `default:"127.0.0.1:8081" env:"RECITAL_ADMIN_ADDR" help:"Admin address: metrics and what recitalctl uses."`
	PublicURL         string         `name:"public-url" env:"RECITAL_PUBLIC_URL" placeholder:"https://HOST" help:"Where clients reach the public address, for the links in replies; in dev by default the host that they asked, over HTTP."`
	OperatorTokenFile string         `name:"operator-token-file" env:"RECITAL_OPERATOR_TOKEN_FILE" placeholder:"PATH" help:"File of the operators' token for the admin address, or of a line NAME ROLE HASH for each person (ROLE is operator or auditor, HASH the token's SHA-256 in hex); in dev made in the data folder when not set."`
	AuditorTokenFile  string         `name:"auditor-token-file" env:"RECITAL_AUDITOR_TOKEN_FILE" placeholder:"PATH" help:"File of the auditors' token for the admin address, or of lines as in the operators' file; in dev made in the data folder when not set."`
	MasterKeyFile     string         `name:"master-key-file" env:"RECITAL_MASTER_KEY_FILE" placeholder:"PATH" help:"File of the key that wraps the accounts' keys: 64 hex digits, the same for all instances; in dev made in the data folder when not set."`
	SigningKeyFile    string         `name:"signing-key-file" env:"RECITAL_SIGNING_KEY_FILE" placeholder:"PATH" help:"File of the key that signs links: 64 hex digits, the same for all instances; in dev made in the data folder when not set."`
	DataDir           string         `default:".recital" env:"RECITAL_DATA_DIR" help:"Folder of the embedded event node, the private Postgres, the blobs and the keys. When the API key in its file dev-api-key was revoked, delete that file, and the next start makes a new key."`
	Blobs             string         `name:"blobs" env:"RECITAL_BLOBS" placeholder:"/PATH" help:"Where the blobs (audio of clips) lie; several instances share them. A folder, or s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION: without an endpoint Amazon's, and plain http for mode dev and loopback, or with tls=false. By default blobs in the data folder."`
	S3AccessKey       string         `name:"s3-access-key" env:"RECITAL_S3_ACCESS_KEY" placeholder:"ID" help:"Id of the key to the blobs in S3. Without keys they are looked for as AWS's tools do: in the environment (AWS_ACCESS_KEY_ID …), in ~/.aws/credentials, and in the role of the machine."`
	S3AccessKeyFile   string         `name:"s3-access-key-file" env:"RECITAL_S3_ACCESS_KEY_FILE" placeholder:"PATH" help:"File of that id, instead."`
	S3SecretKey       string         `name:"s3-secret-key" env:"RECITAL_S3_SECRET_KEY" placeholder:"KEY" help:"The key to the blobs in S3."`
	S3SecretKeyFile   string         `name:"s3-secret-key-file" env:"RECITAL_S3_SECRET_KEY_FILE" placeholder:"PATH" help:"File of that key, instead."`
	EventStore        string         `name:"eventstore" env:"RECITAL_EVENTSTORE" placeholder:"esdb://HOST:2113" help:"EventStoreDB to use instead of the embedded node."`
	EventNodeAddr     string         `name:"eventnode-addr" env:"RECITAL_EVENTNODE_ADDR" placeholder:"127.0.0.1:2113" help:"Opens the embedded node to other clients on loopback, too."`
	Postgres          string         `env:"RECITAL_POSTGRES" placeholder:"postgres://…" help:"Postgres to use instead of a private cluster."`
	SpeechWorker      string         `name:"speechworker" env:"RECITAL_SPEECHWORKER" placeholder:"PATH" help:"The speechworker binary; by default the one beside recitald."`
	Engines           int            `default:"0" env:"RECITAL_ENGINES" help:"Speech engine processes; 0 is one for each CPU, at least 2."`
	Codecs            int            `default:"0" env:"RECITAL_CODECS" help:"Codec processes; 0 is one for each CPU."`
	Decoders          int            `default:"0" env:"RECITAL_DECODERS" help:"How many uploads may be decoded at once, each in a process of its own; 0 is one for each CPU. Others wait."`
	Clonings          int            `default:"0" env:"RECITAL_CLONINGS" help:"How many voices may be made at once, and half as many professional ones trained beside, at least one; 0 is one for each CPU. Others wait. While it is made, a voice takes up to twice the size of its largest recording on disk."`
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
	AddressSignIns    int            `name:"address-sign-ins" default:"100" env:"RECITAL_ADDRESS_SIGN_INS" help:"How many sign-ins one address may have begun in the last ten minutes and not ended; 0 is no limit."`
	StripeKey         string         `name:"stripe-key" env:"RECITAL_STRIPE_KEY" placeholder:"sk_…" help:"Secret key of the payment provider Stripe. In dev a provider for development (the sandbox) takes its place when it is not set."`
	StripeKeyFile     string         `name:"stripe-key-file" env:"RECITAL_STRIPE_KEY_FILE" placeholder:"PATH" help:"File of that key, instead."`
	StripeSecret      []string       `name:"stripe-webhook-secret" env:"RECITAL_STRIPE_WEBHOOK_SECRET" placeholder:"whsec_…,…" help:"Secret that signs the provider's webhooks to /payments/webhook; two while one replaces the other. The endpoint's API version must be of the release train of 2026-02-25.clover."`
	StripeSecretFile  string         `name:"stripe-webhook-secret-file" env:"RECITAL_STRIPE_WEBHOOK_SECRET_FILE" placeholder:"PATH" help:"File of these secrets, one a line, instead."`
	AnalyticsSecret   []string       `name:"stripe-analytics-secret" env:"RECITAL_STRIPE_ANALYTICS_SECRET" placeholder:"whsec_…,…" help:"The same for /payments/webhook/analytics; by default those of the other webhooks."`
	AnalyticsFile     string         `name:"stripe-analytics-secret-file" env:"RECITAL_STRIPE_ANALYTICS_SECRET_FILE" placeholder:"PATH" help:"File of these secrets, one a line, instead."`
	StripeURL         string         `name:"stripe-url" env:"RECITAL_STRIPE_URL" placeholder:"https://HOST" help:"Another server that speaks Stripe's API: in dev, for a second instance, the sandbox of the first (both have one signing key)."`
	StripeCoupon      string         `name:"stripe-coupon" env:"RECITAL_STRIPE_COUPON" placeholder:"ID" help:"Coupon for the first subscription of an account."`
	SandboxAddr       string         `name:"sandbox-addr" default:"127.0.0.1:8083" env:"RECITAL_SANDBOX_ADDR" help:"Address of the payment provider for development, on loopback; where the port is taken, a free one is used."`
	HostingClient     string         `name:"hosting-client-id" env:"RECITAL_HOSTING_CLIENT_ID" placeholder:"oac_…" help:"Id of our integration on the hosting platform Vercel. When it is not set, a platform for development takes its place in dev, and prod offers none."`
	HostingSecret     string         `name:"hosting-client-secret" env:"RECITAL_HOSTING_CLIENT_SECRET" help:"Secret of that integration."`
	HostingSecretFile string         `name:"hosting-client-secret-file" env:"RECITAL_HOSTING_CLIENT_SECRET_FILE" placeholder:"PATH" help:"File of that secret, instead."`
	HostingRedirect   string         `name:"hosting-redirect-url" env:"RECITAL_HOSTING_REDIRECT_URL" placeholder:"https://HOST/PATH" help:"The redirect URL of that integration: where the platform sends browsers with a code."`
	HostingURL        string         `name:"hosting-url" env:"RECITAL_HOSTING_URL" placeholder:"https://HOST" help:"Another server that speaks Vercel's API."`
	HostingAddr       string         `name:"hosting-addr" default:"127.0.0.1:8084" env:"RECITAL_HOSTING_ADDR" help:"Address of the hosting platform for development, on loopback; where the port is taken, a free one is used."`
	Dunning           time.Duration  `default:"336h" env:"RECITAL_DUNNING" help:"How long an account keeps its plan while a payment is missing; 0 is 336h."`
	Reconcile         time.Duration  `default:"1h" env:"RECITAL_RECONCILE" help:"How often what the log knows is compared with the payment provider, beside the start; 0 is 1h."`
	DrainDelay        *time.Duration `env:"RECITAL_DRAIN_DELAY" placeholder:"5s" help:"How long requests are served on once this instance is not ready because it ends or is drained: what a balancer needs to notice. By default 5s in prod and none in dev."`
	Connections       int            `default:"16384" env:"RECITAL_CONNECTIONS" help:"How many connections to the public address may be open at once; 0 is 16384. Beyond, those that have been idle for the longest are closed; when all are busy, new ones get 503, health checks apart."`
	AddressConns      int            `name:"address-connections" default:"0" env:"RECITAL_ADDRESS_CONNECTIONS" help:"How many of them one address may have (an IPv6 network of 64 bits counts as one); 0 is three quarters. A balancer in front is one address."`
	BodyBudget        int            `default:"268435456" env:"RECITAL_BODY_BUDGET" help:"How many bytes of memory the bodies of requests may take at once, as they announce it; 0 is 256 MiB. Beyond, requests get 503."`
	AddressBodies     int            `default:"0" env:"RECITAL_ADDRESS_BODIES" help:"How many of these bytes one address may have; 0 is a quarter. Beyond, requests get 429. A balancer in front is one address."`
	MinRate           int            `default:"8192" env:"RECITAL_MIN_RATE" help:"How many bytes a second a client must at least send of a body, after 15 s, and take of a finished reply, after 30 s; 0 is 8192."`
	QuietEncoder      time.Duration  `default:"2s" env:"RECITAL_QUIET_ENCODER" help:"How long a WebSocket that has nothing to say keeps its encoder; 0 is 2s. Each codec process has room for 256."`
	LogFormat         string         `enum:"text,json" default:"text" env:"RECITAL_LOG_FORMAT" help:"Form of the log on standard error (text or json)."`
	LogLevel          string         `enum:"debug,info,warn,error" default:"info" env:"RECITAL_LOG_LEVEL" help:"debug, info, warn or error."`
}

// Validate refuses what cannot work or is not safe.
func (c Config) Validate() error {
	if err := c.checkMode(); err != nil {
		return err
	}
	for _, listener := range []struct{ name, address string }{
		{"the public address", c.HTTPAddr}, {"the admin address", c.AdminAddr},
	} {
		if err := c.checkListener(listener.address); err != nil {
			return fmt.Errorf("%s %q: %w", listener.name, listener.address, err)
		}
	}
	if err := c.checkPublicURL(); err != nil {
		return err
	}
	if err := c.checkBlobs(); err != nil {
		return err
	}
	if c.LongestStream < time.Second {
		return errors.New("the longest stream must be at least a second")
	}
	if c.SpoolBudget != 0 && c.SpoolBudget < 256 {
		return errors.New("the spool's budget must be at least 256 MiB")
	}
	if c.UploadSize < 0 || c.uploadBudget() < 2*c.uploadSize() {
		return errors.New("the budget of uploads must be at least twice the size of one")
	}
	if c.ClipSaveTimeout < 0 {
		return errors.New("the time for saving a clip cannot be negative")
	}
	if err := c.checkSockets(); err != nil {
		return err
	}
	if err := c.checkSessions(); err != nil {
		return err
	}
	if err := c.checkSignIn(); err != nil {
		return err
	}
	if err := c.checkPayments(); err != nil {
		return err
	}
	if err := c.checkHosting(); err != nil {
		return err
	}
	if min(c.Connections, c.AddressConns, c.BodyBudget, c.AddressBodies, c.MinRate) < 0 {
		return errors.New("the limits of connections and bodies cannot be negative")
	}
	if err := c.checkWorkers(); err != nil {
		return err
	}
	_, concurrency := c.concurrency()
	_, rates := c.rates()
	_, proxies := c.proxies()
	return errors.Join(concurrency, rates, proxies)
}

func (c Config) checkWorkers() error {
	if min(c.Engines, c.Codecs, c.Decoders, c.Alignments, c.Clonings) < 0 {
		return errors.New("the numbers of processes cannot be negative")
	}
	if c.AccountVoices < 0 || c.VoiceAudio < 0 {
		return errors.New("the limits of voices cannot be negative")
	}
	for _, d := range []time.Duration{c.EngineTimeout, c.CodecTimeout} {
		if d != 0 && d < time.Second {
			return errors.New("the times of engines and codecs must be at least a second")
		}
	}
	return nil
}

func (c Config) checkSockets() error {
	if c.AccountSockets < 0 {
		return errors.New("the number of an account's WebSockets cannot be negative")
	}
	for _, d := range []time.Duration{c.SocketIdle, c.SocketLength} {
		if d != 0 && d < time.Second {
			return errors.New("the times of WebSockets must be at least a second")
		}
	}
	if c.QuietEncoder < 0 {
		return errors.New("the time that a quiet WebSocket keeps its encoder cannot be negative")
	}
	return nil
}

// checkMode lists everything that mode prod lacks.
func (c Config) checkMode() error {
	if c.Mode != modeProd {
		return nil
	}
	var missing []string
	for _, need := range []struct{ value, name, what string }{
		{c.EventStore, "RECITAL_EVENTSTORE", "the connection string of an EventStoreDB or KurrentDB"},
		{c.Postgres, "RECITAL_POSTGRES", "the address of a Postgres"},
		{c.OperatorTokenFile, "RECITAL_OPERATOR_TOKEN_FILE", "the file of the operators' token"},
		{c.AuditorTokenFile, "RECITAL_AUDITOR_TOKEN_FILE", "the file of the auditors' token"},
		{c.MasterKeyFile, "RECITAL_MASTER_KEY_FILE", "the file of the key that wraps the accounts' keys"},
		{c.SigningKeyFile, "RECITAL_SIGNING_KEY_FILE", "the file of the key that signs links"},
		{c.PublicURL, "RECITAL_PUBLIC_URL", "where clients reach the public address"},
		{cmp.Or(c.IDP1, c.IDP2, c.IDP3, c.IDP4), "RECITAL_IDP_1", "an identity provider, or RECITAL_IDP_2 to _4"},
		{strings.Join(c.RedirectOrigins, ""), "RECITAL_REDIRECT_ORIGINS", "where a sign-in may lead"},
		{cmp.Or(c.StripeKey, c.StripeKeyFile), "RECITAL_STRIPE_KEY", "the key of the payment provider, or RECITAL_STRIPE_KEY_FILE"},
		{cmp.Or(strings.Join(c.StripeSecret, ""), c.StripeSecretFile), "RECITAL_STRIPE_WEBHOOK_SECRET", "the secret of its webhooks, or RECITAL_STRIPE_WEBHOOK_SECRET_FILE"},
	} {
		if need.value == "" {
			missing = append(missing, need.name+" ("+need.what+")")
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("mode prod brings nothing along; set %s", strings.Join(missing, ", "))
	}
	if c.EventNodeAddr != "" {
		return errors.New("mode prod runs no embedded event node; leave RECITAL_EVENTNODE_ADDR unset")
	}
	return nil
}

// checkPublicURL takes an origin only: links are made by adding paths to it.
func (c Config) checkPublicURL() error {
	if c.PublicURL == "" {
		return nil
	}
	u, err := url.Parse(c.PublicURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("the public URL must be http(s)://HOST or http(s)://HOST:PORT")
	}
	return nil
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
