package app_test

import (
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/providers/payments"
	"github.com/recital-tts/recital/internal/standins/sandbox"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// createCustomer creates a customer of the payment provider.
func createCustomer(t *testing.T, a *app.App, account string) string {
	t.Helper()
	customer, err := a.Payments().CreateCustomer(t.Context(),
		payments.Attempt{ID: "attempt-of-" + account, First: time.Now()}, account)
	require.NoError(t, err)
	return customer
}

func TestModeDevStartsAPaymentSandbox(t *testing.T) {
	cfg := config(t)
	a, err := app.Open(t.Context(), cfg, io.Discard)
	require.NoError(t, err)
	prices, err := a.Payments().Prices(t.Context())
	require.NoError(t, err)
	assert.Len(t, prices, 3)
	customer := createCustomer(t, a, "mine")

	// Its webhooks are sent to the public address with a valid signature.
	require.Eventually(t, func() bool {
		status, err := a.Sandbox(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "http://"+a.PublicAddr()+"/payments/webhook", status.WebhookURL)
		return status.PendingWebhooks == 0
	}, patience, pause)
	_, err = a.Notices().Verify([]byte("{}"), "", time.Now())
	require.ErrorIs(t, err, payments.ErrForged)

	// Its state survives a restart, even with another port.
	require.NoError(t, a.Close())
	again := open(t, cfg)
	account, err := again.Payments().AccountOf(t.Context(), customer)
	require.NoError(t, err)
	assert.Equal(t, "mine", account)
}

// Two instances of a service share one provider.
func TestASecondInstanceUsesTheSandboxOfTheFirst(t *testing.T) {
	longtest.Only(t)
	cfg := config(t)
	first := open(t, cfg)
	other := config(t)
	other.SigningKeyFile = filepath.Join(cfg.DataDir, "signing-key")
	other.StripeURL = first.SandboxURL()
	second := open(t, other)
	assert.Empty(t, second.SandboxURL())
	account, err := second.Payments().AccountOf(t.Context(), createCustomer(t, first, "shared"))
	require.NoError(t, err)
	assert.Equal(t, "shared", account)
	stranger := config(t)
	stranger.StripeURL = first.SandboxURL()
	_, err = open(t, stranger).Payments().Prices(t.Context())
	require.ErrorIs(t, err, payments.ErrUnavailable, "another service has another key")
}

func firstEvent(t *testing.T, a *app.App) string {
	t.Helper()
	for e, err := range a.Payments().Events(t.Context(), time.Unix(0, 0)) {
		require.NoError(t, err)
		return e.ID
	}
	require.Fail(t, "there is no event")
	return ""
}

func TestTheProvidersSecretsAreReadFromFiles(t *testing.T) {
	longtest.Only(t)
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	s, err := sandbox.Open(sandbox.Config{
		File: filepath.Join(t.TempDir(), "sandbox"), Key: "sk_test_hidden", WebhookSecret: "whsec_old",
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	cfg := config(t)
	cfg.StripeURL, cfg.StripeKeyFile = s.URL(), write("key", "sk_test_hidden\n")
	cfg.StripeSecretFile = write("secrets", "whsec_new\nwhsec_old\n")
	a := open(t, cfg)
	assert.Empty(t, a.SandboxURL(), "another provider is used")
	createCustomer(t, a, "mine")
	body, signature, err := s.Webhook(firstEvent(t, a))
	require.NoError(t, err)
	_, err = a.Notices().Verify(body, signature, time.Now())
	require.NoError(t, err)

	for name, change := range map[string]func(*app.Config){
		"an empty key":      func(c *app.Config) { c.StripeKeyFile = write("empty", "\n") },
		"two keys":          func(c *app.Config) { c.StripeKeyFile = write("two", "sk_test_hidden sk_test_2\n") },
		"no key":            func(c *app.Config) { c.StripeKeyFile = filepath.Join(folder, "nothing") },
		"no secrets":        func(c *app.Config) { c.StripeSecretFile = write("empty", " \n") },
		"no secrets' file":  func(c *app.Config) { c.StripeSecretFile = filepath.Join(folder, "nothing") },
		"no analytics":      func(c *app.Config) { c.AnalyticsSecretFile = write("empty", "") },
		"a sandbox outside": func(c *app.Config) { c.StandInsAddr = "192.0.2.1:8083" },
	} {
		t.Run(name, func(t *testing.T) {
			wrong := cfg
			wrong.DataDir = t.TempDir()
			change(&wrong)
			_, err := app.Open(t.Context(), wrong, io.Discard)
			require.Error(t, err)
			assert.NotContains(t, err.Error(), "hidden")
		})
	}
}

func TestOperatorsDriveTheSandbox(t *testing.T) {
	cfg := config(t)
	a := open(t, cfg)
	ask := func(method, path, body, token string) (int, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, "http://"+a.AdminAddr()+path, strings.NewReader(body))
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer "+secret(t, cfg, token))
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(text)
	}
	customer := createCustomer(t, a, "mine")
	status, body := ask("POST", "/admin/sandbox/advance", `{"duration":"24h"}`, "operator-token")
	assert.Equal(t, http.StatusOK, status, body)
	advanced, err := a.Sandbox(t.Context())
	require.NoError(t, err)
	assert.Greater(t, time.Until(advanced.Now), 23*time.Hour)
	kept, err := os.ReadFile(filepath.Join(cfg.DataDir, "clock-ahead"))
	require.NoError(t, err)
	assert.Regexp(t, `^24h0m\d`, string(kept))
	status, body = ask("GET", "/admin/sandbox/customers", "", "operator-token")
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, body, customer)
	status, body = ask("POST", "/admin/sandbox/refund", `{"invoice":"in_nothing"}`, "operator-token")
	assert.Equal(t, http.StatusBadRequest, status)
	assert.Contains(t, body, "No such invoice: 'in_nothing'")
	status, _ = ask("POST", "/admin/sandbox/advance", `{"duration":"24h"}`, "auditor-token")
	assert.Equal(t, http.StatusForbidden, status, "auditors only read")
	for _, wrong := range []string{"-24h", "900000h", "2562000h", "tomorrow"} {
		status, _ = ask("POST", "/admin/sandbox/advance", `{"duration":"`+wrong+`"}`, "operator-token")
		assert.Equal(t, http.StatusBadRequest, status, wrong)
	}
}

// The sandbox catches up after a recitald that was killed before it advanced the sandbox.
func TestTheSandboxFollowsTheClockAfterACrash(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	require.NoError(t, os.WriteFile(filepath.Join(cfg.DataDir, "clock-ahead"), []byte("72h\n"), 0o600))
	a := open(t, cfg)
	status, err := a.Sandbox(t.Context())
	require.NoError(t, err)
	assert.WithinDuration(t, time.Now().Add(72*time.Hour), status.Now, time.Hour)
}
