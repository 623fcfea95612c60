package app

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/eventnode"
	"github.com/recital-tts/recital/internal/http/rates"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/speech"
)

// The modes. dev serves only this machine and starts all parts that are not configured. prod serves others, and
// everything must be configured.
const (
	modeDev  = "dev"
	modeProd = "prod"
)

// Config holds all settings. Each field is a flag and an environment variable RECITAL_… of the same meaning;
// settings.txt explains them. Defaults are stated only here. Open gives fields that are zero their default, unless zero
// has a meaning of its own (tag zero). The tag least has the smallest permitted value, by default 0.
//
// A secret X is set as its value, or as the path of a file (field XFile, --x-file, RECITAL_X_FILE) with one secret in
// each line. Keys and tokens are always files. The tag secret determines what is hidden where settings are shown.
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
	ONNXRuntime   string        `name:"onnxruntime" placeholder:"/PATH/libonnxruntime.so"`
	NeuralMemory  int           `name:"neural-memory" default:"2048" least:"128"`
	Engines       int           `name:"engines" default:"0"`
	Codecs        int           `name:"codecs" default:"0"`
	Alignments    int           `name:"alignments" default:"2"`
	LongestStream time.Duration `name:"longest-stream" default:"10m" least:"1s"`
	Concurrency   string        `name:"concurrency" default:"free=4"`
	OpenAIVoices  string        `name:"openai-voices" default:"alloy=leah,ash=curtis,ballad=ansel,cedar=morgan,coral=elowen,echo=zeke,fable=ansel,marin=amy,nova=ava,onyx=morgan,sage=amy,shimmer=lily,verse=zeke"`

	AccountRate string `name:"account-rate" default:"free=50,indie=500,pro=500,premium=500,enterprise=500"`
	AddressRate int    `name:"address-rate" default:"500" zero:"off"`
	Connections int    `name:"connections" default:"16384"`
	BodyBudget  int    `name:"body-budget" default:"268435456"`

	EventStreams        int `name:"event-streams" default:"4096" least:"1"`
	AccountEventStreams int `name:"account-event-streams" default:"20" least:"1"`

	RedirectOrigins []string      `name:"redirect-origins" placeholder:"https://HOST,…"`
	SessionLength   time.Duration `name:"session-length" default:"720h" least:"10m"`
	SessionIdle     time.Duration `name:"session-idle" default:"168h" least:"10m"`
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
	StripePublishable   string        `name:"stripe-publishable-key" placeholder:"pk_…"`
	StripeCoupon        string        `name:"stripe-coupon" placeholder:"ID"`
	StripeRate          int           `name:"stripe-rate" default:"20" zero:"off"`
	Dunning             time.Duration `name:"dunning" default:"336h"`
	DisputeEndsPlan     bool          `name:"dispute-ends-plan"`

	HostingClient     string `name:"hosting-client-id" placeholder:"oac_…"`
	HostingSecret     string `name:"hosting-client-secret" secret:"whole"`
	HostingSecretFile string `name:"hosting-client-secret-file"`
	HostingRedirect   string `name:"hosting-redirect-url" placeholder:"https://HOST/PATH"`
	HostingURL        string `name:"hosting-url" placeholder:"https://HOST"`

	SMTPServer        string `name:"smtp-server" placeholder:"smtp://HOST:587"`
	SMTPUser          string `name:"smtp-user" placeholder:"NAME"`
	SMTPPassword      string `name:"smtp-password" secret:"whole"`
	SMTPPasswordFile  string `name:"smtp-password-file"`
	NoticesFrom       string `name:"notices-from" placeholder:"ADDRESS"`
	NoticesOperators  string `name:"notices-operators" placeholder:"ADDRESS"`
	NoticesWebhook    string `name:"notices-webhook" placeholder:"https://HOST/PATH"`
	NoticesSecret     string `name:"notices-webhook-secret" secret:"whole" placeholder:"whsec_…"`
	NoticesSecretFile string `name:"notices-webhook-secret-file"`

	LogFormat     string  `name:"log-format" enum:"text,json" default:"text"`
	LogLevel      string  `name:"log-level" enum:"debug,info,warn,error" default:"info"`
	TraceEndpoint string  `name:"otlp-endpoint" env:"OTEL_EXPORTER_OTLP_ENDPOINT" placeholder:"http://HOST:4318"`
	AlertDisk     float64 `name:"alert-disk" default:"95"`

	StandInsAddr string `name:"standins-addr" default:"127.0.0.1:8082"`

	Tuning `kong:"-"`
	Given  map[string]string `kong:"-"` // the source of each setting that is not a default, by flag
}

// Tuning holds values that only tests set. Zero stands for the constant at the place of use.
type Tuning struct {
	AlertEvery    time.Duration
	AlertLag      time.Duration
	Reconcile     time.Duration
	SocketIdle    time.Duration
	SocketLength  time.Duration
	AddressConns  int
	AddressBodies int

	AccountSockets  int
	AccountSessions int
}

// maxUpload is the maximum size of a request with recordings, in bytes.
const maxUpload = 250 << 20

const mib = 1 << 20

// longestReservation returns more than a reply can take: it is interrupted after LongestStream, then waits for a client
// that does not read the piece being written, and is settled. So no reservation expires before it is settled.
func (c Config) longestReservation() time.Duration {
	return c.LongestStream + c.LongestStream/10 + longestPiece*c.writeTimeout() + synthesis.SettleTimeout
}

// longestPiece is the maximum size of a piece of audio in units of 64 KiB. Each may take one write timeout.
const longestPiece = 2

// writeTimeout returns the time for a client to read 64 KiB.
func (c Config) writeTimeout() time.Duration { return min(c.LongestStream, 30*time.Second) }

// alertEvery returns the interval at which this instance checks the conditions of alerts.
func (c Config) alertEvery() time.Duration { return cmp.Or(c.AlertEvery, 5*time.Second) }

// diskLimit returns the limit of a disk's use. Its floor is twice the embedded node's, so that the alert is raised
// before a write fails.
func (c Config) diskLimit() diskLimit {
	limit := diskLimit{percent: c.AlertDisk}
	if c.EventStore == "" {
		limit.floor = 2 * eventnode.SpaceReserve
	}
	return limit
}

// lagLimit returns the lag of a read model from which an alert is raised.
func (c Config) lagLimit() time.Duration { return cmp.Or(c.AlertLag, time.Minute) }

const (
	failureLimit = 10.0            // per cent of the last five minutes' speech that may fail before an alert is raised
	expiryLimit  = 504 * time.Hour // before a certificate ends, an alert is raised
)

// defaultDrainDelay is the default of mode prod. In dev there is no balancer.
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
		return "", fmt.Errorf("no speechworker binary at %s; build it with make build, or set RECITAL_SPEECHWORKER: %w",
			path, err)
	}
	return path, nil
}

// Mistakes has all errors of the settings, each with the setting's flag and variable.
type Mistakes []error

// Error returns a line for each mistake.
func (m Mistakes) Error() string {
	if len(m) == 1 {
		return m[0].Error()
	}
	lines := []string{fmt.Sprintf("%d settings are wrong:", len(m))}
	for _, mistake := range m {
		lines = append(lines, "  "+mistake.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.Is and errors.As see each mistake.
func (m Mistakes) Unwrap() []error { return m }

// add adds the error of the setting of a flag, if there is one.
func (m *Mistakes) add(flag string, err error) {
	if err != nil {
		*m = append(*m, fmt.Errorf("--%s (%s): %w", flag, variable(flag), err))
	}
}

// when adds a mistake if wrong is true.
func (m *Mistakes) when(wrong bool, flag, message string) {
	if wrong {
		m.add(flag, errors.New(message))
	}
}

// all returns the mistakes as an error, ordered by flag, or nil if there are none.
func (m Mistakes) all() error {
	if len(m) == 0 {
		return nil
	}
	slices.SortFunc(m, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return m
}

// variable returns the environment variable of a flag.
func variable(flag string) string {
	return "RECITAL_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Validate returns all settings that cannot work or are not safe, as Mistakes. It does not read files.
func (c Config) Validate() error {
	c = c.withDefaults()
	var m Mistakes
	c.checkMode(&m)
	for _, l := range []struct{ flag, name, address string }{
		{"http-addr", "the public address", c.HTTPAddr}, {"admin-addr", "the admin address", c.AdminAddr},
	} {
		if err := c.checkListener(l.address); err != nil {
			m.add(l.flag, fmt.Errorf("%s %q: %w", l.name, l.address, err))
		}
	}
	m.when(c.HTTPAddr == c.AdminAddr && !strings.HasSuffix(c.AdminAddr, ":0"), "admin-addr",
		"it is the public address, too; each needs its own")
	c.checkPublicURL(&m)
	c.checkNumbers(&m)
	c.checkTwice(&m)
	c.checkBlobs(&m)
	m.add("standins-addr", c.checkStandIns())
	m.when(c.AlertDisk > 100, "alert-disk", "it must be at most 100 per cent")
	c.checkSessions(&m)
	c.checkSignIn(&m)
	c.checkPayments(&m)
	c.checkHosting(&m)
	c.checkNotices(&m)
	c.checkRates(&m)
	m.add("otlp-endpoint", c.checkTraces())
	return m.all()
}

// checkNumbers compares numbers and times with their smallest permitted values.
func (c Config) checkNumbers(m *Mistakes) {
	values := reflect.ValueOf(c)
	for i := range values.NumField() {
		field := values.Type().Field(i)
		flag, least := field.Tag.Get("name"), cmp.Or(field.Tag.Get("least"), "0")
		if limit, isNumber := numberIn(field.Type, least); isNumber && flag != "" {
			value, _ := numberIn(field.Type, fmt.Sprint(values.Field(i).Interface()))
			m.when(value < limit, flag, "it must be at least "+least)
		}
	}
}

// withDefaults returns the settings with the defaults of fields that are zero.
func (c Config) withDefaults() Config {
	values := reflect.ValueOf(&c).Elem()
	for i := range values.NumField() {
		field, value := values.Type().Field(i), values.Field(i)
		text, has := field.Tag.Lookup("default")
		if !has || !value.IsZero() || field.Tag.Get("zero") != "" {
			continue
		}
		if number, isNumber := numberIn(field.Type, text); isNumber {
			value.Set(reflect.ValueOf(number).Convert(field.Type))
		} else {
			value.SetString(text)
		}
	}
	return c
}

// numberIn returns the value of a text for a field that is a number or a time (in nanoseconds).
func numberIn(of reflect.Type, text string) (value float64, isNumber bool) {
	switch {
	case of == reflect.TypeFor[time.Duration]():
		d, _ := time.ParseDuration(text)
		return float64(d), true
	case of.Kind() == reflect.Int, of.Kind() == reflect.Float64:
		_, _ = fmt.Sscan(text, &value)
		return value, true
	}
	return 0, false
}

// checkFiles returns the errors of the files in the settings, as Mistakes.
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

// checkMode adds the settings that are missing for mode prod.
func (c Config) checkMode(m *Mistakes) {
	if c.Mode != modeProd {
		return
	}
	for _, need := range []struct{ value, flag, what string }{
		{cmp.Or(c.EventStore, c.EventStoreFile), "eventstore",
			"the connection string of an EventStoreDB or KurrentDB, or its file"},
		{cmp.Or(c.Postgres, c.PostgresFile), "postgres", "the address of a Postgres, or its file"},
		{c.OperatorTokenFile, "operator-token-file", "the file of the operators' token"},
		{c.AuditorTokenFile, "auditor-token-file", "the file of the auditors' token"},
		{c.MasterKeyFile, "master-key-file", "the file of the key that wraps the accounts' keys"},
		{c.SigningKeyFile, "signing-key-file", "the file of the key that signs links"},
		{c.AuditKeyFile, "audit-key-file", "the file of the key that signs the audit chain"},
		{c.PublicURL, "public-url", "where clients reach the public address"},
		{cmp.Or(c.IDP1, c.IDP2, c.IDP3, c.IDP4), "idp-1", "an identity provider, here or as RECITAL_IDP_2 to _4"},
		{strings.Join(c.RedirectOrigins, ""), "redirect-origins", "where a sign-in may lead"},
		{cmp.Or(c.StripeKey, c.StripeKeyFile), "stripe-key", "the key of the payment provider, or RECITAL_STRIPE_KEY_FILE"},
		{cmp.Or(strings.Join(c.StripeSecret, ""), c.StripeSecretFile), "stripe-webhook-secret",
			"the secret of its webhooks, or RECITAL_STRIPE_WEBHOOK_SECRET_FILE"},
	} {
		m.when(need.value == "", need.flag, "mode prod brings nothing along; set "+need.what)
	}
	m.when(c.EventNodeAddr != "", "eventnode-addr", "mode prod runs no embedded event node; leave it unset")
}

// checkTwice adds secrets that are given both as a value and as a file.
func (c Config) checkTwice(m *Mistakes) {
	for s := range c.secrets() {
		m.when(!s.value.IsZero() && s.file != "", s.flag, "it is set twice: as it is, and as a file (--"+s.flag+"-file)")
	}
}

// checkPublicURL permits only an origin, because links are made by adding paths to it.
func (c Config) checkPublicURL(m *Mistakes) {
	if c.PublicURL == "" {
		return
	}
	_, isOrigin := parseOrigin(c.PublicURL)
	m.when(!isOrigin, "public-url", "the public URL must be http(s)://HOST or http(s)://HOST:PORT")
}

// parseOrigin parses an http(s) address, and reports whether it is one of a server alone.
func parseOrigin(text string) (*url.URL, bool) {
	u, isAddress := parseAddress(text)
	return u, isAddress && strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && u.Fragment == ""
}

// parseAddress parses an http(s) address without credentials.
func parseAddress(text string) (*url.URL, bool) {
	u, err := url.Parse(text)
	return u, err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
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

// concurrency returns the maximum number of concurrent syntheses of an account, by plan; 0 means no limit. The default
// limits only free accounts: paid ones are limited by characters, and free ones should not keep engines from them. Four
// suffice for a voice dialogue (one reply playing, the next in preparation), and are usual at other services.
func (c Config) concurrency() (map[plan.Type]int, error) {
	return byPlan("concurrency limit", "Concurrency", c.Concurrency)
}

// failureRate is the number of wrong credentials per second from one address, after a burst of four times that number.
const failureRate = 10

// rates returns the limits of requests per second that append to the log. They bound the events that an account can
// write to the log, where they stay for ever. The defaults are far above real needs: a free account that spends its
// characters in sentences makes some 200 requests a month.
func (c Config) rates() (rates.Limits, error) {
	accounts, err := byPlan("rate", "AccountRate", c.AccountRate)
	limits := rates.Limits{Accounts: map[string]int{}, Address: c.AddressRate}
	if c.AddressRate > 0 {
		limits.Failures = failureRate
	}
	for plan, rate := range accounts {
		limits.Accounts[string(plan)] = rate
	}
	return limits, err
}

// openAIVoices returns the ids of system voices by their names in OpenAI's interface, in lower case.
func (c Config) openAIVoices() (map[string]string, error) {
	return overDefault("OpenAIVoices", c.OpenAIVoices, func(entry, name, id string) (string, string, error) {
		name = strings.ToLower(name)
		_, found := speech.LookupVoice(id)
		switch {
		case name == "" || id == "":
			return "", "", fmt.Errorf("%q is not NAME=VOICE", entry)
		case !found:
			return "", "", fmt.Errorf("%q: %s is not a system voice", entry, id)
		}
		return name, id, nil
	})
}

// overDefault reads a setting NAME=VALUE,… of a field over its default. read returns name and value of an entry.
func overDefault[K ~string, V any](
	field, setting string, read func(entry, name, value string) (K, V, error),
) (map[K]V, error) {
	declared, _ := reflect.TypeFor[Config]().FieldByName(field)
	all, err := readPairs(declared.Tag.Get("default"), read)
	if err != nil {
		return nil, err
	}
	named, err := readPairs(setting, read)
	maps.Copy(all, named)
	return all, err
}

func readPairs[K ~string, V any](
	setting string, read func(entry, name, value string) (K, V, error),
) (map[K]V, error) {
	all := map[K]V{}
	for entry := range strings.SplitSeq(setting, ",") {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		name, text, _ := strings.Cut(entry, "=")
		key, value, err := read(entry, strings.TrimSpace(name), strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		if _, twice := all[key]; twice {
			return nil, fmt.Errorf("%s is set twice", key)
		}
		all[key] = value
	}
	return all, nil
}

func (c Config) checkRates(m *Mistakes) {
	_, err := c.concurrency()
	m.add("concurrency", err)
	_, err = c.rates()
	m.add("account-rate", err)
	_, err = c.openAIVoices()
	m.add("openai-voices", err)
}

// byPlan reads a setting PLAN=NUMBER,… over its default; 0 means no limit.
func byPlan(what, field, setting string) (map[plan.Type]int, error) {
	return overDefault(field, setting, func(entry, name, number string) (plan.Type, int, error) {
		terms, err := plan.Lookup(plan.Type(name))
		if err != nil {
			return "", 0, fmt.Errorf("the %s %q: %w", what, entry, err)
		}
		limit, err := strconv.Atoi(number)
		if err != nil || limit < 0 {
			return "", 0, fmt.Errorf("the %s %q is not PLAN=NUMBER, where 0 is no limit", what, entry)
		}
		return terms.Type, limit, nil
	})
}
