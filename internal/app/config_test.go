package app_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/http/adminapi"
)

func TestConfigRefusesUnsafeAndInvalidSettings(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*app.Config)
		says   string // "" if it is accepted
	}{
		{"the defaults", func(*app.Config) {}, ""},
		{"IPv6 loopback", func(c *app.Config) { c.HTTPAddr = "[::1]:8080" }, ""},
		{"localhost", func(c *app.Config) { c.AdminAddr = "localhost:8081" }, ""},
		{"all of 127/8", func(c *app.Config) { c.HTTPAddr = "127.8.9.10:80" }, ""},
		{"every address", func(c *app.Config) { c.HTTPAddr = "0.0.0.0:8080" },
			"the public address \"0.0.0.0:8080\": dev mode serves on loopback addresses only"},
		{"no host", func(c *app.Config) { c.AdminAddr = ":8081" },
			"the admin address \":8081\": dev mode serves on loopback addresses only"},
		{"another machine's", func(c *app.Config) { c.AdminAddr = "192.0.2.1:8081" },
			"the admin address \"192.0.2.1:8081\": dev mode"},
		{"every IPv6 address", func(c *app.Config) { c.HTTPAddr = "[::]:8080" },
			"the public address \"[::]:8080\": dev mode"},
		{"a name", func(c *app.Config) { c.HTTPAddr = "recital.example:80" }, "dev mode serves on loopback"},
		{"no port", func(c *app.Config) { c.HTTPAddr = "127.0.0.1" }, "the public address \"127.0.0.1\": not HOST:PORT"},
		{"an empty configuration", func(c *app.Config) { *c = app.Config{} }, ""},
		{"less than a second", func(c *app.Config) { c.LongestStream = 999 * time.Millisecond }, "it must be at least 1s"},
		{"a negative duration", func(c *app.Config) { c.LongestStream = -time.Minute }, "it must be at least 1s"},
		{"a second", func(c *app.Config) { c.LongestStream = time.Second }, ""},
		{"a small spool", func(c *app.Config) { c.SpoolBudget = 255 }, "it must be at least 256"},
		{"more than a full disk", func(c *app.Config) { c.AlertDisk = 100.5 }, "at most 100 per cent"},
		{"less than an empty disk", func(c *app.Config) { c.AlertDisk = -0.5 }, "it must be at least 0"},
		{"a negative number of engines", func(c *app.Config) { c.Engines = -1 }, "it must be at least 0"},
		{"a public URL", func(c *app.Config) { c.PublicURL = "https://recital.example:8443/" }, ""},
		{"a public URL with a path", func(c *app.Config) { c.PublicURL = "https://recital.example/api" },
			"the public URL must be"},
		{"a public URL of another kind", func(c *app.Config) { c.PublicURL = "ftp://recital.example" },
			"the public URL must be"},
		{"a public URL that is a host", func(c *app.Config) { c.PublicURL = "recital.example" }, "the public URL must be"},
		{"a public URL with a password", func(c *app.Config) { c.PublicURL = "https://me:hidden@recital.example" },
			"the public URL must be"},
		{"a folder of blobs", func(c *app.Config) { c.Blobs = "/srv/blobs" }, ""},
		{"blobs in Amazon's S3", func(c *app.Config) { c.Blobs = "s3://bucket/blobs?region=eu-west-1" }, ""},
		{"blobs in another S3", func(c *app.Config) { c.Blobs = "s3://bucket?endpoint=https://s3.example:9000" }, ""},
		{"blobs in a plain S3", func(c *app.Config) { c.Blobs = "s3://bucket/blobs?endpoint=http://minio:9000" }, ""},
		{"blobs in S3 nowhere", func(c *app.Config) { c.Blobs = "s3://bucket/blobs" }, "region is needed"},
		{"blobs in no bucket", func(c *app.Config) { c.Blobs = "s3:///blobs?region=eu-west-1" }, "a bucket's name has"},
		{"blobs in S3 with a password", func(c *app.Config) { c.Blobs = "s3://me:hidden@bucket/blobs?region=eu-west-1" },
			"without credentials"},
		{"blobs beside others", func(c *app.Config) { c.Blobs = "s3://bucket/../x?region=eu-west-1" },
			"the prefix is made of"},
		{"blobs in S3 with a misspelled setting", func(c *app.Config) { c.Blobs = "s3://bucket?regoin=eu-west-1" },
			"nothing else"},
		{"half a key of S3", func(c *app.Config) { c.Blobs, c.S3AccessKey = "s3://bucket?region=eu-west-1", "id" },
			"S3 needs both keys"},
		{"a key of S3 twice", func(c *app.Config) {
			c.Blobs, c.S3AccessKey, c.S3SecretKey, c.S3SecretKeyFile = "s3://bucket?region=eu-west-1", "id", "hidden",
				"/run/secrets/s3"
		}, "set twice"},
		{"blobs somewhere", func(c *app.Config) { c.Blobs = "blobs" }, "absolute path"},
		{"sessions that end at once", func(c *app.Config) { c.SessionIdle = time.Minute }, "it must be at least 10m"},
		{"sessions that end before they are idle", func(c *app.Config) { c.SessionLength = time.Hour },
			"for as long as it may be idle"},
		{"other sessions", func(c *app.Config) {
			c.SessionLength, c.SessionIdle, c.AccountSessions = time.Hour, time.Hour, 1
		}, ""},
		{"one address for both servers", func(c *app.Config) { c.AdminAddr = c.HTTPAddr }, "it is the public address, too"},
		{"proxies", func(c *app.Config) { c.TrustedProxies = []string{"10.0.0.0/8", "192.0.2.1", "fd00::/8", "::1"} }, ""},
		{"a proxy by name", func(c *app.Config) { c.TrustedProxies = []string{"proxy.example"} },
			`the trusted proxy "proxy.example" is neither`},
		{"a proxy of too many bits", func(c *app.Config) { c.TrustedProxies = []string{"10.0.0.0/33"} },
			`the trusted proxy "10.0.0.0/33" is neither`},
		{"an origin with a path", func(c *app.Config) { c.RedirectOrigins = []string{"https://app.example/in"} },
			`the origin "https://app.example/in" is not`},
		{"any origin", func(c *app.Config) { c.RedirectOrigins = []string{"*"} }, `the origin "*" is not`},
		{"an origin without a scheme", func(c *app.Config) { c.RedirectOrigins = []string{"app.example"} },
			`the origin "app.example" is not`},
		{"an origin of another kind", func(c *app.Config) { c.RedirectOrigins = []string{"file://app.example"} },
			"is not https://HOST"},
		{"other connections and bodies", func(c *app.Config) {
			c.Connections, c.BodyBudget = 10, 1<<30
		}, ""},
		{"concurrency", func(c *app.Config) { c.Concurrency = "free=1, indie=20,pro = 0" }, ""},
		{"no concurrency limit at all", func(c *app.Config) { c.Concurrency = "free=0" }, ""},
		{"concurrency of no plan", func(c *app.Config) { c.Concurrency = "free=1,gold=3" },
			`the concurrency limit "gold=3": Unknown plan: it is one of free, indie, pro, premium or enterprise`},
		{"concurrency without a number", func(c *app.Config) { c.Concurrency = "free" },
			`the concurrency limit "free" is not PLAN=NUMBER`},
		{"concurrency of half a synthesis", func(c *app.Config) { c.Concurrency = "free=0.5" },
			`"free=0.5" is not PLAN=NUMBER`},
		{"negative concurrency", func(c *app.Config) { c.Concurrency = "free=-1" }, `"free=-1" is not PLAN=NUMBER`},
		{"concurrency set twice", func(c *app.Config) { c.Concurrency = "free=1,free=2" },
			"free is set twice"},
		{"other voices for OpenAI's names", func(c *app.Config) { c.OpenAIVoices = "Alloy = zeke, mine=leah" }, ""},
		{"a name without a voice", func(c *app.Config) { c.OpenAIVoices = "alloy" }, `"alloy" is not NAME=VOICE`},
		{"a name of no system voice", func(c *app.Config) { c.OpenAIVoices = "alloy=mine" }, "mine is not a system voice"},
		{"a name of two voices", func(c *app.Config) { c.OpenAIVoices = "alloy=leah,ALLOY=zeke" }, "set twice"},
		{"a payment provider", func(c *app.Config) {
			c.StripeKey, c.StripeSecret = "sk_test_1",
				[]string{"whsec_1", "whsec_2"}
		}, ""},
		{"a payment provider without a webhook secret", func(c *app.Config) { c.StripeKey = "sk_test_1" },
			"needs RECITAL_STRIPE_WEBHOOK_SECRET"},
		{"a webhook secret without a payment provider", func(c *app.Config) { c.StripeSecret = []string{"whsec_1"} },
			"need RECITAL_STRIPE_KEY"},
		{"webhooks that anybody signs", func(c *app.Config) { c.StripeKey, c.StripeSecret = "sk_test_1", []string{""} },
			"webhooks is empty"},
		{"the sandbox of another instance", func(c *app.Config) { c.StripeURL = "http://127.0.0.1:8083" }, ""},
		{"a payment provider in the clear", func(c *app.Config) { c.StripeURL = "http://stripe.example" },
			"must begin with https://"},
		{"a payment provider with a path", func(c *app.Config) { c.StripeURL = "https://stripe.example/v1" },
			"must be http(s)://HOST"},
		{"stand-ins for everybody", func(c *app.Config) { c.StandInsAddr = "0.0.0.0:8083" }, "serve on loopback only"},
		{"a hosting platform", func(c *app.Config) { c.HostingClient, c.HostingSecret = "oac_1", "secret" }, ""},
		{"a hosting platform without a secret", func(c *app.Config) { c.HostingClient = "oac_1" },
			"needs both RECITAL_HOSTING_CLIENT_ID and"},
		{"a secret without a hosting platform", func(c *app.Config) { c.HostingSecretFile = "/run/secrets/hosting" },
			"needs both RECITAL_HOSTING_CLIENT_ID and"},
		{"two secrets for the hosting platform",
			func(c *app.Config) { c.HostingSecret, c.HostingSecretFile = "secret", "/run/secrets/hosting" }, "is set twice"},
		{"a hosting platform without a client id", func(c *app.Config) { c.HostingURL = "https://vercel.example" },
			"needs RECITAL_HOSTING_CLIENT_ID beside it"},
		{"a hosting platform in the clear", hosted("http://vercel.example"), "must begin with https://"},
		{"a hosting platform on this machine", hosted("http://127.0.0.1:8084"), ""},
		{"a hosting platform with a path", hosted("https://vercel.example/v1"), "must be http(s)://HOST"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := app.Config{HTTPAddr: "127.0.0.1:8080", AdminAddr: "127.0.0.1:8081"}
			c.change(&cfg)
			err := cfg.Validate()
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			assert.Contains(t, err.Error(), c.says)
			requireNamed(t, err)
		})
	}
}

func TestProdRequiresItsSettings(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*app.Config)
		says   []string // nil if it is accepted
	}{
		{"all required settings", func(*app.Config) {}, nil},
		{"every address", func(c *app.Config) { c.HTTPAddr, c.AdminAddr = "0.0.0.0:8080", ":8081" }, nil},
		{"names and IPv6", func(c *app.Config) { c.HTTPAddr, c.AdminAddr = "[::]:8080", "recital.internal:8081" }, nil},
		{"nothing", func(c *app.Config) {
			c.EventStore, c.Postgres, c.OperatorTokenFile, c.AuditorTokenFile = "", "", "", ""
			c.MasterKeyFile, c.SigningKeyFile, c.AuditKeyFile, c.PublicURL, c.IDP1, c.RedirectOrigins = "", "", "", "", "", nil
			c.StripeKey, c.StripeSecret = "", nil
		}, []string{
			"mode prod", "RECITAL_EVENTSTORE", "RECITAL_POSTGRES", "RECITAL_OPERATOR_TOKEN_FILE", "RECITAL_AUDITOR_TOKEN_FILE",
			"RECITAL_MASTER_KEY_FILE", "RECITAL_SIGNING_KEY_FILE", "RECITAL_PUBLIC_URL", "RECITAL_IDP_1",
			"RECITAL_REDIRECT_ORIGINS",
			"RECITAL_STRIPE_KEY", "RECITAL_STRIPE_WEBHOOK_SECRET",
		}},
		{"no event store", func(c *app.Config) { c.EventStore = "" }, []string{"(RECITAL_EVENTSTORE): mode prod"}},
		{"no Postgres", func(c *app.Config) { c.Postgres = "" }, []string{"(RECITAL_POSTGRES): mode prod"}},
		{"no operators", func(c *app.Config) { c.OperatorTokenFile = "" },
			[]string{"(RECITAL_OPERATOR_TOKEN_FILE): mode prod"}},
		{"no auditors", func(c *app.Config) { c.AuditorTokenFile = "" }, []string{"(RECITAL_AUDITOR_TOKEN_FILE): mode prod"}},
		{"no master key", func(c *app.Config) { c.MasterKeyFile = "" }, []string{"(RECITAL_MASTER_KEY_FILE): mode prod"}},
		{"no audit key", func(c *app.Config) { c.AuditKeyFile = "" }, []string{"(RECITAL_AUDIT_KEY_FILE): mode prod"}},
		{"no signing key", func(c *app.Config) { c.SigningKeyFile = "" }, []string{"(RECITAL_SIGNING_KEY_FILE): mode prod"}},
		{"no public URL", func(c *app.Config) { c.PublicURL = "" }, []string{"(RECITAL_PUBLIC_URL): mode prod"}},
		{"no identity provider", func(c *app.Config) { c.IDP1 = "" }, []string{"(RECITAL_IDP_1): mode prod"}},
		{"one provider, any of the four", func(c *app.Config) { c.IDP1, c.IDP4 = "", c.IDP1 }, nil},
		{"half a provider", func(c *app.Config) { c.IDP2 = "https://idp.example recital" },
			[]string{"idp_2", "ISSUER CLIENT_ID SECRET_FILE"}},
		{"no redirects", func(c *app.Config) { c.RedirectOrigins = nil }, []string{"(RECITAL_REDIRECT_ORIGINS): mode prod"}},
		{"no payment provider", func(c *app.Config) { c.StripeKey, c.StripeSecret = "", nil }, []string{
			"(RECITAL_STRIPE_KEY): mode prod", "(RECITAL_STRIPE_WEBHOOK_SECRET): mode prod",
		}},
		{"no webhook secret", func(c *app.Config) { c.StripeSecret = nil },
			[]string{"(RECITAL_STRIPE_WEBHOOK_SECRET): mode prod"}},
		{"webhooks that anybody signs", func(c *app.Config) { c.StripeSecret = []string{"whsec_hidden", ""} },
			[]string{"webhooks is empty"}},
		{"an empty secret for analytics", func(c *app.Config) { c.AnalyticsSecret = []string{" "} },
			[]string{"webhooks is empty"}},
		{"secrets in files", func(c *app.Config) {
			c.StripeKey, c.StripeSecret, c.StripeKeyFile, c.StripeSecretFile = "", nil, "/run/secrets/stripe-key",
				"/run/secrets/stripe-webhook-secret"
		}, nil},
		{"a key that is set twice", func(c *app.Config) { c.StripeKeyFile = "/run/secrets/stripe-key" },
			[]string{"set twice"}},
		{"a publishable key", func(c *app.Config) { c.StripePublishable = "pk_live_1" }, nil},
		{"a secret where all can read it", func(c *app.Config) { c.StripePublishable = "sk_live_hidden" },
			[]string{"(RECITAL_STRIPE_PUBLISHABLE_KEY)", "must begin with pk_test_ or pk_live_"}},
		{"a sandbox", func(c *app.Config) { c.StripeURL = "http://127.0.0.1:8083" }, []string{"mode prod takes no sandbox"}},
		{"another way to the payment provider", func(c *app.Config) { c.StripeURL = "https://proxy.example" }, nil},
		{"a hosting platform in the clear", hosted("http://127.0.0.1:8084"), []string{"must begin with https://"}},
		{"redirects to anywhere", func(c *app.Config) { c.RedirectOrigins = []string{"*"} }, []string{"the origin \"*\""}},
		{"a front end on another site without TLS", func(c *app.Config) { c.PublicURL = "http://recital.example" },
			[]string{"(RECITAL_REDIRECT_ORIGINS): the origin \"https://app.example\" is on another site"}},
		{"a front end on the same site without TLS", func(c *app.Config) {
			c.PublicURL, c.RedirectOrigins = "http://api.recital.example", []string{"http://app.recital.example:8080"}
		}, nil},
		{"a front end on another site of this machine", func(c *app.Config) { c.PublicURL = "http://127.0.0.1:8080" }, nil},
		{"an embedded node for others", func(c *app.Config) { c.EventNodeAddr = "127.0.0.1:2113" }, []string{
			"no embedded event node", "RECITAL_EVENTNODE_ADDR",
		}},
		{"blobs in S3 over TLS", func(c *app.Config) { c.Blobs = "s3://bucket/blobs?endpoint=https://s3.example" }, nil},
		{"blobs in S3 in plain", func(c *app.Config) { c.Blobs = "s3://bucket/blobs?endpoint=http://s3.example" },
			[]string{"travel over TLS", "tls=false"}},
		{"blobs in S3 in plain with tls=false",
			func(c *app.Config) { c.Blobs = "s3://bucket/blobs?endpoint=http://minio:9000&tls=false" }, nil},
		{"blobs in S3 on this machine", func(c *app.Config) { c.Blobs = "s3://bucket/blobs?endpoint=http://127.0.0.1:9000" },
			nil},
		{"no port", func(c *app.Config) { c.HTTPAddr = "0.0.0.0" },
			[]string{"the public address \"0.0.0.0\": not HOST:PORT"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := app.Config{
				Mode: "prod", HTTPAddr: "0.0.0.0:8080", AdminAddr: "127.0.0.1:8081",
				EventStore: "esdb://admin:hidden@events:2113", Postgres: "postgres://recital:hidden@postgres/recital",
				OperatorTokenFile: "/run/secrets/operator-token", AuditorTokenFile: "/run/secrets/auditor-token",
				MasterKeyFile: "/run/secrets/master-key", SigningKeyFile: "/run/secrets/signing-key",
				AuditKeyFile: "/run/secrets/audit-key", PublicURL: "https://recital.example",
				IDP1: "https://idp.example recital /run/secrets/idp-1-secret", RedirectOrigins: []string{"https://app.example"},
				StripeKey: "sk_live_hidden", StripeSecret: []string{"whsec_hidden"},
			}
			c.change(&cfg)
			err := cfg.Validate()
			if c.says == nil {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			for _, part := range c.says {
				assert.ErrorContains(t, err, part)
			}
			requireNamed(t, err)
			assert.NotContains(t, err.Error(), "hidden", "a password")
		})
	}
}

// requireNamed checks that an error names a setting.
func requireNamed(t *testing.T, err error) {
	t.Helper()
	var mistakes app.Mistakes
	require.ErrorAs(t, err, &mistakes)
	for _, mistake := range mistakes {
		named := slices.ContainsFunc(app.Config{}.Settings(), func(s adminapi.Setting) bool {
			return strings.HasPrefix(mistake.Error(), "--"+s.Flag+" ("+s.Variable+"): ")
		})
		require.True(t, named, mistake.Error())
	}
}

// hosted returns a change that sets a hosting platform at an address.
func hosted(url string) func(*app.Config) {
	return func(c *app.Config) { c.HostingClient, c.HostingSecret, c.HostingURL = "oac_1", "secret", url }
}
