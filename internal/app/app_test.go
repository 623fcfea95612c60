package app_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

func TestTheWelcomeHasAddressesAndKey(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	var log, welcome bytes.Buffer
	a, err := app.Open(t.Context(), cfg, &log)
	require.NoError(t, err)
	a.Welcome(&welcome, true)
	assert.NotEmpty(t, processesIn(t, cfg.DataDir), "the private Postgres")
	require.NoError(t, a.Close())
	assert.Empty(t, processesIn(t, cfg.DataDir))

	key := secret(t, cfg, "dev-api-key")
	for _, part := range []string{
		"http://" + a.PublicAddr(), "http://" + a.AdminAddr(), cfg.DataDir, key, filepath.Join(cfg.DataDir, "dev-api-key"),
		"curl -sS http://" + a.PublicAddr() + "/v1/ai/speech/bytes -H 'x-api-key: " + key + "'", "-o hello.mp3",
		"make voices", "Ctrl-C",
	} {
		assert.Contains(t, welcome.String(), part)
	}
	for _, file := range []string{"dev-api-key", "operator-token", "auditor-token"} {
		assert.NotContains(t, log.String(), secret(t, cfg, file), "the log has the secret of %s", file)
	}
}

func TestMinPositionOverHTTP(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	cfg := config(t)
	a := open(t, cfg)
	key := secret(t, cfg, "dev-api-key")
	written := positionOfASynthesis(t, a, key)
	for _, c := range []struct {
		name, position string
		status         int
	}{
		{"none", "", http.StatusOK},
		{"reached", written, http.StatusOK},
		{"the start", "0/0", http.StatusOK},
		{"past the head", "9000000000000000000/9000000000000000000", http.StatusBadRequest},
		{"not one", "tomorrow", http.StatusBadRequest},
	} {
		t.Run(c.name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+a.PublicAddr()+"/v1/account", nil)
			require.NoError(t, err)
			request.Header.Set("x-api-key", key)
			if c.position != "" {
				request.Header.Set("x-recital-min-position", c.position)
			}
			assert.Equal(t, c.status, do(t, request).StatusCode)
		})
	}
}

func positionOfASynthesis(t *testing.T, a *app.App, key string) string {
	t.Helper()
	body := strings.NewReader(`{"text":"Hello.","voice":"leah"}`)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+a.PublicAddr()+"/v1/ai/speech",
		body)
	require.NoError(t, err)
	request.Header.Set("x-api-key", key)
	request.Header.Set("Content-Type", "application/json")
	response := do(t, request)
	require.Equal(t, http.StatusOK, response.StatusCode)
	position := response.Header.Get("x-recital-position")
	require.NotEmpty(t, position)
	return position
}

// do sends a request on a new connection and reads the complete reply. It repeats a read that is late: a slow machine
// may need longer than the two seconds that the service waits.
func do(t *testing.T, request *http.Request) *http.Response {
	t.Helper()
	response, late := once(t, request)
	for end := time.Now().Add(lateness); late && time.Now().Before(end); time.Sleep(pause) {
		response, late = once(t, request)
	}
	return response
}

// lateness is the maximum time for repeating a late read.
const lateness = 30 * time.Second

// once sends a request without repeating it. It reports whether it is a read that failed because the read models were
// behind.
func once(t *testing.T, request *http.Request) (response *http.Response, late bool) {
	t.Helper()
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response, request.Method == http.MethodGet && isLate(response.StatusCode, body)
}

func isLate(status int, body []byte) bool {
	return status == http.StatusServiceUnavailable && bytes.Contains(body, []byte("The read models are behind")) ||
		status == http.StatusGatewayTimeout && bytes.Contains(body, []byte("The position was not reached in time"))
}

func TestAFolderWithALongPath(t *testing.T) {
	longtest.Only(t)
	cfg := config(t)
	t.Setenv("TMPDIR", cfg.DataDir) // for the sockets
	cfg.DataDir = filepath.Join(cfg.DataDir, strings.Repeat("deep/", 30))
	a := open(t, cfg)
	positionOfASynthesis(t, a, secret(t, cfg, "dev-api-key"))
}

func TestTheSecretsSurviveARestart(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	cfg := config(t)
	read := func() (all []string) {
		for _, file := range []string{"dev-api-key", "operator-token", "auditor-token"} {
			all = append(all, secret(t, cfg, file))
		}
		return all
	}
	first, err := app.Open(t.Context(), cfg, io.Discard)
	require.NoError(t, err)
	before := read()
	require.NoError(t, first.Close())
	second := open(t, cfg)
	assert.Equal(t, before, read())
	positionOfASynthesis(t, second, before[0])
}

func TestAFailedOpenHasAReasonAndLeavesNoProcess(t *testing.T) {
	longtest.Only(t)
	for _, c := range []struct {
		name   string
		change func(t *testing.T, cfg *app.Config)
		says   []string
	}{
		{"no speechworker", func(t *testing.T,
			cfg *app.Config) {
			cfg.SpeechWorker = filepath.Join(t.TempDir(), "speechworker")
		},
			[]string{"starting the speech workers", "make build", "RECITAL_SPEECHWORKER"}},
		{"an invalid speechworker", func(_ *testing.T, cfg *app.Config) { cfg.SpeechWorker = "/bin/true" },
			[]string{"starting the speech workers"}},
		{"an address in use", func(t *testing.T, cfg *app.Config) { cfg.HTTPAddr = inUse(t) },
			[]string{"listening for the public server", "address already in use"}},
		{"a Postgres that refuses", func(t *testing.T, cfg *app.Config) { cfg.Postgres = pgtest.URL(t) + "&dbname=missing" },
			[]string{"preparing the database", "does not exist"}},
		{"an event store that is not there",
			func(_ *testing.T, cfg *app.Config) { cfg.EventStore = "esdb://me:hidden@127.0.0.1:1?tls=false" },
			[]string{"opening the event log", "connection refused"}},
		{"an event store with a node preference", func(_ *testing.T, cfg *app.Config) {
			cfg.EventStore = "esdb://me:hidden@127.0.0.1:1?tls=false&nodePreference=random"
		}, []string{"opening the event log", "nodePreference"}},
		{"an invalid operator token", func(t *testing.T, cfg *app.Config) {
			require.NoError(t, os.WriteFile(filepath.Join(cfg.DataDir, "operator-token"), nil, 0o600))
		}, []string{"operator-token", "delete it"}},
		{"a prod without its token", func(t *testing.T, cfg *app.Config) {
			cfg.Mode, cfg.EventStore, cfg.Postgres = "prod", "esdb://me:hidden@127.0.0.1:1?tls=false",
				"postgres://me:hidden@127.0.0.1:1/recital"
			cfg.OperatorTokenFile, cfg.AuditorTokenFile = filepath.Join(t.TempDir(), "operator"),
				filepath.Join(t.TempDir(), "auditor")
			cfg.MasterKeyFile, cfg.SigningKeyFile, cfg.PublicURL = "/run/secrets/master-key", "/run/secrets/signing-key",
				"https://recital.example"
			cfg.AuditKeyFile = "/run/secrets/audit-key"
			cfg.IDP1, cfg.RedirectOrigins = "https://idp.example recital /run/secrets/idp-1-secret",
				[]string{"https://app.example"}
			cfg.StripeKey, cfg.StripeSecret = "sk_live_hidden", []string{"whsec_hidden"}
		}, []string{"--operator-token-file (RECITAL_OPERATOR_TOKEN_FILE)", "no such file"}},
		{"an invalid master key", func(t *testing.T, cfg *app.Config) {
			require.NoError(t, os.WriteFile(filepath.Join(cfg.DataDir, "master-key"), []byte("hidden\n"), 0o600))
		}, []string{"reading the keys", "master-key holds no key", "openssl rand -hex 32"}},
		{"an invalid API key", func(t *testing.T, cfg *app.Config) {
			require.NoError(t, os.WriteFile(filepath.Join(cfg.DataDir, "dev-api-key"), []byte("rk_mine\n"), 0o600))
		}, []string{"dev-api-key holds no API key", "delete it"}},
		{"a data folder that is a file", func(t *testing.T, cfg *app.Config) {
			cfg.DataDir = filepath.Join(t.TempDir(), "file")
			require.NoError(t, os.WriteFile(cfg.DataDir, nil, 0o600))
		}, []string{"preparing the data folder", "not a directory"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config(t)
			c.change(t, &cfg)
			before := leaks()
			a, err := app.Open(t.Context(), cfg, io.Discard)
			require.Error(t, err)
			assert.Nil(t, a)
			for _, part := range c.says {
				assert.Contains(t, err.Error(), part)
			}
			assert.NotContains(t, err.Error(), "hidden", "a password")
			assert.Empty(t, processesIn(t, cfg.DataDir), "processes stay")
			assert.NoError(t, before(), "goroutines stay")
		})
	}
}

func TestASecondRecitaldOnOneFolderIsRefused(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	cfg := config(t)
	first := open(t, cfg)
	_, err := app.Open(t.Context(), cfg, io.Discard)
	require.ErrorContains(t, err, "another recitald")
	positionOfASynthesis(t, first, secret(t, cfg, "dev-api-key")) // the first one still serves
}
