package app

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

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
	Mode              string        `enum:"dev,prod" default:"dev" env:"RECITAL_MODE" help:"dev needs loopback addresses and brings along whatever is not configured; prod serves any address and refuses to start without --eventstore, --postgres, --public-url, both token files and both key files (what payments and sign-in need will be demanded with those features)."`
	HTTPAddr          string        `name:"http-addr" default:"127.0.0.1:8080" env:"RECITAL_HTTP_ADDR" help:"Public address."`
	AdminAddr         string        `default:"127.0.0.1:8081" env:"RECITAL_ADMIN_ADDR" help:"Admin address: metrics and what recitalctl uses."`
	PublicURL         string        `name:"public-url" env:"RECITAL_PUBLIC_URL" placeholder:"https://HOST" help:"Where clients reach the public address, for the links in replies; in dev by default the host that they asked, over HTTP."`
	OperatorTokenFile string        `name:"operator-token-file" env:"RECITAL_OPERATOR_TOKEN_FILE" placeholder:"PATH" help:"File of the operators' token for the admin address, or of a line NAME ROLE HASH for each person (ROLE is operator or auditor, HASH the token's SHA-256 in hex); in dev made in the data folder when not set."`
	AuditorTokenFile  string        `name:"auditor-token-file" env:"RECITAL_AUDITOR_TOKEN_FILE" placeholder:"PATH" help:"File of the auditors' token for the admin address, or of lines as in the operators' file; in dev made in the data folder when not set."`
	MasterKeyFile     string        `name:"master-key-file" env:"RECITAL_MASTER_KEY_FILE" placeholder:"PATH" help:"File of the key that wraps the accounts' keys: 64 hex digits, the same for all instances; in dev made in the data folder when not set."`
	SigningKeyFile    string        `name:"signing-key-file" env:"RECITAL_SIGNING_KEY_FILE" placeholder:"PATH" help:"File of the key that signs links: 64 hex digits, the same for all instances; in dev made in the data folder when not set."`
	DataDir           string        `default:".recital" env:"RECITAL_DATA_DIR" help:"Folder of the embedded event node, the private Postgres, the blobs and the keys. When the API key in its file dev-api-key was revoked, delete that file, and the next start makes a new key."`
	Blobs             string        `name:"blobs" env:"RECITAL_BLOBS" placeholder:"/PATH" help:"Folder of the blobs (audio of clips); several instances share one. By default blobs in the data folder."`
	EventStore        string        `name:"eventstore" env:"RECITAL_EVENTSTORE" placeholder:"esdb://HOST:2113" help:"EventStoreDB to use instead of the embedded node."`
	EventNodeAddr     string        `name:"eventnode-addr" env:"RECITAL_EVENTNODE_ADDR" placeholder:"127.0.0.1:2113" help:"Opens the embedded node to other clients on loopback, too."`
	Postgres          string        `env:"RECITAL_POSTGRES" placeholder:"postgres://…" help:"Postgres to use instead of a private cluster."`
	SpeechWorker      string        `name:"speechworker" env:"RECITAL_SPEECHWORKER" placeholder:"PATH" help:"The speechworker binary; by default the one beside recitald."`
	Engines           int           `default:"0" env:"RECITAL_ENGINES" help:"Speech engine processes; 0 is one for each CPU, at least 2."`
	Codecs            int           `default:"0" env:"RECITAL_CODECS" help:"Codec processes; 0 is one for each CPU."`
	EngineTimeout     time.Duration `default:"15s" env:"RECITAL_ENGINE_TIMEOUT" help:"How long a speech engine may take for one segment before it is killed as stalled; 0 is 15s."`
	CodecTimeout      time.Duration `default:"10s" env:"RECITAL_CODEC_TIMEOUT" help:"How long a codec may take for one request before it is killed as stalled; 0 is 10s."`
	LongestStream     time.Duration `default:"10m" env:"RECITAL_LONGEST_STREAM" help:"How long a reply may take; characters that are not settled by then are free again."`
	Concurrency       string        `default:"free=4" env:"RECITAL_CONCURRENCY" help:"How many syntheses of one account may run at once, as PLAN=NUMBER,… (free, indie, pro, premium, enterprise); 0 is no limit, and plans that are not named keep their defaults. Each instance counts its own."`
	AccountSockets    int           `default:"100" env:"RECITAL_ACCOUNT_SOCKETS" help:"How many WebSockets of one account may be open at once; 0 is 100. Each instance counts its own."`
	SocketIdle        time.Duration `default:"5m" env:"RECITAL_SOCKET_IDLE" help:"How long a WebSocket may be open without a message in either direction; 0 is 5m."`
	SocketLength      time.Duration `default:"1h" env:"RECITAL_SOCKET_LENGTH" help:"How long a WebSocket may be open; 0 is 1h."`
	LogFormat         string        `enum:"text,json" default:"text" env:"RECITAL_LOG_FORMAT" help:"Form of the log on standard error (text or json)."`
	LogLevel          string        `enum:"debug,info,warn,error" default:"info" env:"RECITAL_LOG_LEVEL" help:"debug, info, warn or error."`
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
	if err := c.checkSockets(); err != nil {
		return err
	}
	if err := c.checkWorkers(); err != nil {
		return err
	}
	_, err := c.concurrency()
	return err
}

func (c Config) checkWorkers() error {
	if c.Engines < 0 || c.Codecs < 0 {
		return errors.New("the numbers of processes cannot be negative")
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

// checkBlobs takes a folder only.
func (c Config) checkBlobs() error {
	switch {
	case strings.HasPrefix(c.Blobs, "s3:"):
		return errors.New("blobs in S3 are not supported yet: leave RECITAL_BLOBS unset, or set it to a folder, which all instances share")
	case c.Blobs != "" && !filepath.IsAbs(c.Blobs):
		return errors.New("RECITAL_BLOBS must be the absolute path of a folder")
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

// longestReservation leaves a reply some time to wait for its settlement, after its last byte: a minute by default.
func (c Config) longestReservation() time.Duration { return c.LongestStream + c.LongestStream/10 }

func (c Config) limits() web.Limits {
	return web.Limits{
		Stream: c.LongestStream, AccountSockets: c.AccountSockets, SocketIdle: c.SocketIdle, SocketLength: c.SocketLength,
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
