package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/standins"
)

const providerKey = "sk_test_of_setup"

// merchant is an account at a payment provider, a real process, with an operator who sets it up.
type merchant struct {
	t           *testing.T
	url         string
	environment []string
	catalogue   string
	secretFile  string
}

func openProvider(t *testing.T) *merchant {
	t.Helper()
	program := speechworker.Beside("standins")
	process, started, err := standins.Start(workers.Command{Path: program.Path(), Alone: true}, standins.Config{
		Payments: &standins.Payments{File: filepath.Join(t.TempDir(), "sandbox.jsonl"), Address: "127.0.0.1:0",
			Key: providerKey, WebhookSecret: "whsec_of_nobody"},
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		process.Kill()
		<-process.Done()
	})
	a := &merchant{t: t, url: started.Payments, secretFile: filepath.Join(t.TempDir(), "whsec")}
	a.environment = []string{"RECITAL_STRIPE_KEY=" + providerKey, "RECITAL_STRIPE_URL=" + a.url,
		"RECITAL_PUBLIC_URL=https://speech.example"}
	a.sells(`{"products": [
		{"plan": "indie", "name": "Indie", "prices": [
			{"currency": "usd", "amount": 1000, "overage_millis": 5000, "overage_unit": 1000},
			{"currency": "jpy", "amount": 1500, "overage_millis": 7500, "overage_unit": 1000}]},
		{"plan": "enterprise", "name": "Large", "prices": [{"currency": "eur", "amount": 90000}]}]}`)
	return a
}

// sells writes the catalogue.
func (a *merchant) sells(catalogue string) {
	a.t.Helper()
	a.catalogue = filepath.Join(a.t.TempDir(), "plans.json")
	require.NoError(a.t, os.WriteFile(a.catalogue, []byte(catalogue), 0o600))
}

func (a *merchant) setupArgs(args ...string) []string {
	return append([]string{"payments", "setup", "--catalogue", a.catalogue, "--secret-file", a.secretFile}, args...)
}

func (a *merchant) setup(args ...string) ran {
	a.t.Helper()
	got := recitalctl(a.t, a.environment, a.setupArgs(args...)...)
	assert.NotContains(a.t, got.out+got.notes, "whsec_")
	assert.NotContains(a.t, got.out+got.notes, providerKey)
	return got
}

// ask sends a request to the provider as the account's owner.
func (a *merchant) ask(method, path, body string) string {
	a.t.Helper()
	request, err := http.NewRequestWithContext(a.t.Context(), method, a.url+path, strings.NewReader(body))
	require.NoError(a.t, err)
	request.Header.Set("Authorization", "Bearer "+providerKey)
	if strings.HasPrefix(path, "/v1") {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(a.t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(a.t, err)
	require.Equal(a.t, 200, response.StatusCode, string(answer))
	return string(answer)
}

type endpoint struct {
	ID, URL, Status string
	EnabledEvents   []string `json:"enabled_events"`
	Version         string   `json:"api_version"`
}

func (a *merchant) endpoints() []endpoint {
	a.t.Helper()
	var page struct{ Data []endpoint }
	require.NoError(a.t, json.Unmarshal([]byte(a.ask("GET", "/v1/webhook_endpoints?limit=100", "")), &page))
	return page.Data
}

func (a *merchant) prices() int {
	return strings.Count(a.ask("GET", "/v1/prices?limit=100", ""), `"object":"price"`)
}

func TestSettingUpTheAccountAtTheProvider(t *testing.T) {
	t.Parallel()
	a := openProvider(t)

	// given an account without our endpoint, when it is checked, then that is reported and the account does not change
	got := recitalctl(t, a.environment, "payments", "check")
	require.Equal(t, 1, got.code, got.out)
	require.Contains(t, got.out, "warning  notices are sent to https://speech.example/payments/webhook")
	require.Contains(t, got.out, "a key of test mode")

	// when only the plan is requested, or there is no confirmation, then it is printed and the account does not change
	got = a.setup("--plan")
	require.Equal(t, 1, got.code, got.notes)
	require.Regexp(t, `create +endpoint .*https://speech\.example/payments/webhook`, got.out)
	require.Regexp(t, `keep +product +prod_indie +Indie, of plan indie`, got.out)
	require.Regexp(t, `create +price +1500 JPY a month, of plan indie`, got.out)
	require.Regexp(t, `decide +price +price_pro +49\.00 USD`, got.out)
	got = a.setup()
	require.Equal(t, 2, got.code)
	require.Contains(t, got.notes, "give --yes")
	require.Empty(t, a.endpoints())
	require.NoFileExists(t, a.secretFile)

	// when it is set up, then it is complete, and the secret is in a file with mode 0600
	got = a.setup("--yes", "--format", "json")
	require.Zero(t, got.code, got.notes)
	var steps []stepRow
	require.NoError(t, json.Unmarshal([]byte(got.out), &steps))
	for _, step := range steps {
		require.Contains(t, []string{"keep", "decide"}, step.Action, step.What)
	}
	require.Len(t, a.endpoints(), 1)
	require.Contains(t, a.endpoints()[0].EnabledEvents, "charge.dispute.closed")
	require.NotEmpty(t, a.endpoints()[0].Version)
	secret, err := os.ReadFile(a.secretFile)
	require.NoError(t, err)
	require.Regexp(t, `^whsec_\w+\n$`, string(secret))
	info, err := os.Stat(a.secretFile)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.Equal(t, 3+2, a.prices())

	// when it is set up again, then there are no changes
	before := a.endpoints()
	require.Zero(t, a.setup("--yes").code)
	require.Zero(t, a.setup("--plan").code)
	require.Equal(t, before, a.endpoints())
	require.Equal(t, 3+2, a.prices())
	got = recitalctl(t, a.environment, "payments", "check")
	require.Zero(t, got.code, got.out)

	// when events are removed from the endpoint, or it is disabled, then it is repaired with the same secret
	for _, harm := range []string{"enabled_events[]=invoice.paid", "disabled=true"} {
		a.ask("POST", "/v1/webhook_endpoints/"+before[0].ID, harm)
		require.Equal(t, 1, recitalctl(t, a.environment, "payments", "check").code)
		require.Zero(t, a.setup("--yes").code)
		require.Equal(t, "enabled", a.endpoints()[0].Status)
		require.ElementsMatch(t, before[0].EnabledEvents, a.endpoints()[0].EnabledEvents)
	}

	// when a price is archived, it is put on sale again; when its overage changes, so does its metadata
	a.ask("POST", "/v1/prices/price_indie", "active=false")
	a.sells(`{"products": [{"plan": "indie", "name": "Indie 2", "prices": [
		{"currency": "usd", "amount": 1000, "overage_millis": 6000, "overage_unit": 1000}]}]}`)
	require.Zero(t, a.setup("--yes").code)
	require.Equal(t, 3+2, a.prices())
	sold := a.ask("GET", "/v1/prices?active=true&limit=100&expand[]=data.product", "")
	require.Contains(t, sold, `"overage_millis":"6000"`)
	require.Contains(t, sold, `"Indie 2"`)
}

// A kill between the endpoint and its secret must not leave an endpoint with an unknown secret.
func TestAKilledSetupIsCompletedByTheNext(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/v1/webhook_endpoints", "/v1/products", "/v1/prices"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			// given a setup that was killed after its request was carried out, but before the response
			a := openProvider(t)
			a.ask("POST", "/sandbox/faults",
				`{"faults":[{"do":"hang","committed":true,"method":"POST","path":"`+path+`","delay":"1m"}]}`)
			tool := exec.Command(os.Args[0], a.setupArgs("--yes")...)
			tool.Env = append(a.environment, asTool+"=1")
			require.NoError(t, tool.Start())
			count := func() int { return strings.Count(a.ask("GET", path+"?limit=100", ""), `"metadata":`) }
			begun := count()
			require.Eventually(t, func() bool { return count() > begun }, time.Minute, 10*time.Millisecond)
			require.NoError(t, tool.Process.Signal(syscall.SIGKILL))
			require.Error(t, tool.Wait())
			a.ask("POST", "/sandbox/faults", `{"faults":[]}`)

			// when it is run again, then everything exists once, and the secret is known
			got := a.setup("--yes")
			require.Zero(t, got.code, got.notes)
			require.Len(t, a.endpoints(), 1)
			require.Equal(t, 3+2, a.prices())
			secret, err := os.ReadFile(a.secretFile)
			require.NoError(t, err)
			require.Regexp(t, `^whsec_\w+\n$`, string(secret))
			require.Zero(t, a.setup("--plan").code)
		})
	}
}

func TestWhatTheSetupRefuses(t *testing.T) {
	t.Parallel()
	a := openProvider(t)
	restricted := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/subscriptions") || r.Method == http.MethodPost {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"error":{"type":"invalid_request_error","message":"The provided key 'rk_test_*****f1' `+
				`does not have the required permissions for this endpoint on account 'acct_1'. Having the `+
				`'rak_subscription_read' permission would allow this request to continue."}}`)
			return
		}
		_, _ = io.WriteString(w, `{"object":"list","data":[],"has_more":false}`)
	}))
	t.Cleanup(restricted.Close)
	check := []string{"payments", "check"}
	full := filepath.Join(t.TempDir(), "full")
	require.NoError(t, os.WriteFile(full, []byte("whsec of another\n"), 0o600))
	bad := func(catalogue string) []string {
		path := filepath.Join(t.TempDir(), "bad.json")
		require.NoError(t, os.WriteFile(path, []byte(catalogue), 0o600))
		return []string{"payments", "setup", "--catalogue", path}
	}
	product := func(price string) []string {
		return bad(`{"products":[{"plan":"pro","name":"Pro","prices":[` + price + `]}]}`)
	}
	for name, c := range map[string]struct {
		environment []string
		args        []string
		code        int
		says        string
	}{
		"no key":                    {[]string{"RECITAL_STRIPE_KEY="}, check, 4, "RECITAL_STRIPE_KEY"},
		"a wrong key":               {[]string{"RECITAL_STRIPE_KEY=sk_test_other"}, check, 4, "does not accept"},
		"nobody answers":            {[]string{"RECITAL_STRIPE_URL=http://" + unused(t)}, check, 3, "does not answer"},
		"a key in clear":            {[]string{"RECITAL_STRIPE_URL=http://192.0.2.1"}, check, 2, "must be https"},
		"what a restricted key may": {[]string{"RECITAL_STRIPE_URL=" + restricted.URL}, check, 1, "missing"},
		"what it may not change": {[]string{"RECITAL_STRIPE_URL=" + restricted.URL}, a.setupArgs("--yes"), 4,
			"lacks the permission rak_subscription_read"},
		"nothing to set up": {[]string{"RECITAL_PUBLIC_URL="}, []string{"payments", "setup"}, 2, "to set up webhooks"},
		"no place for the secret": {nil, []string{"payments", "setup", "--yes"}, 2,
			"--secret-file"},
		"a place that is taken": {nil, []string{"payments", "setup", "--yes", "--secret-file", full}, 1, "not overwritten"},
		"no catalogue":          {nil, []string{"payments", "setup", "--catalogue", "/nowhere"}, 2, "/nowhere"},
		"an unknown field":      {nil, bad(`{"colour":1}`), 2, "colour"},
		"an unknown plan":       {nil, bad(`{"products":[{"plan":"gold","name":"G"}]}`), 2, "gold"},
		"the free plan":         {nil, bad(`{"products":[{"plan":"free","name":"F"}]}`), 2, "free"},
		"no amount":             {nil, product(`{"currency":"usd"}`), 2, "amount"},
		"a price of 0":          {nil, product(`{"currency":"usd","amount":0}`), 2, "amount"},
		"a currency in capitals": {nil, product(`{"currency":"USD","amount":1}`), 2,
			"lower-case letters"},
		"a dinar's last digit": {nil, product(`{"currency":"kwd","amount":1001}`), 2, "three decimals"},
		"half an overage":      {nil, product(`{"currency":"usd","amount":1,"overage_unit":1}`), 2, "both"},
		"two prices": {nil, product(`{"currency":"usd","amount":1},{"currency":"usd","amount":2}`), 2,
			"two prices"},
	} {
		t.Run(name, func(t *testing.T) {
			got := recitalctl(t, append(append([]string{}, a.environment...), c.environment...), c.args...)
			assert.Equal(t, c.code, got.code, got.out+got.notes)
			assert.Contains(t, got.out+got.notes, c.says)
			assert.NotContains(t, got.out+got.notes, "sk_test_o")
			assert.NotContains(t, got.out+got.notes, "acct_1")
		})
	}
	require.Empty(t, a.endpoints())
	got := recitalctl(t, append(a.environment, "RECITAL_STRIPE_URL="+restricted.URL), "payments", "check")
	require.Contains(t, got.out, "it lacks rak_subscription_read")
}
