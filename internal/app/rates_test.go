package app_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/http/rates"
)

// Every route that is in neither list counts for the rates, unless it is a GET.
func TestEveryRouteThatAppendsHasARate(t *testing.T) {
	appendsNothing := []string{
		"POST /drain", "POST /echo", "POST /speech/beta/{path:path}", "PUT /speech/beta/{path:path}",
		"DELETE /speech/beta/{path:path}",
		"POST /v1/ai/speech/kanna", "POST /v1/ai/speech/kanna_improved", "POST /v1/ai/voice/precheck",
	}
	appendsByGet := []string{
		"GET /v1/ai/speech", "GET /v1/account/new_api_key", "GET /auth/oauth/login", "GET /auth/oauth/{provider}",
		"GET /auth/oauth/logout",
	}
	// The provider's notices are not limited.
	signed := []string{"POST /payments/webhook", "POST /payments/webhook/analytics"}
	for _, route := range open(t, config(t)).PublicRoutes() {
		name := route.Method + " " + route.Path
		appends := route.Method != http.MethodGet && !slices.Contains(appendsNothing, name) &&
			!slices.Contains(signed, name) || slices.Contains(appendsByGet, name)
		require.Equal(t, appends, route.Appends, name)
	}
}

func TestAnAccountOverItsRateIsRefusedAndAppendsNothing(t *testing.T) {
	// given an account that may make one request a second, after four
	cfg := config(t)
	cfg.AccountRate = "enterprise=1"
	a := open(t, cfg)
	key := secret(t, cfg, "dev-api-key")
	ask := func(path string) (*http.Response, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+a.PublicAddr()+path, nil)
		if err != nil {
			return nil, err
		}
		request.Header.Set("X-API-Key", key)
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			t.Cleanup(func() { _ = response.Body.Close() })
		}
		return response, err
	}

	// when it makes many more requests, then those over the limit are refused
	var mu sync.Mutex
	var asking sync.WaitGroup
	statuses := map[int]int{}
	for range 40 {
		asking.Go(func() {
			response, err := ask("/v1/ai/speech?text=Hi&voice=leah")
			if !assert.NoError(t, err) {
				return
			}
			_, err = io.Copy(io.Discard, response.Body)
			assert.NoError(t, err)
			mu.Lock()
			defer mu.Unlock()
			statuses[response.StatusCode]++
			assert.Equal(t, response.StatusCode == http.StatusTooManyRequests, response.Header.Get("Retry-After") == "1")
		})
	}
	asking.Wait()
	spoken := statuses[http.StatusOK]
	require.GreaterOrEqual(t, spoken, 4)
	require.Positive(t, statuses[http.StatusTooManyRequests])
	require.Equal(t, 40, spoken+statuses[http.StatusTooManyRequests])

	require.Contains(t, figures(t, a, secret(t, cfg, "operator-token")),
		fmt.Sprintf(`recital_http_rates_refused_total{of="account",server="public"} %d`,
			statuses[http.StatusTooManyRequests]))

	// and are free, and reads are served
	requireUsage(t, a, key, 2*spoken)
	response, err := ask("/v1/ai/voice/list")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode)
}

func TestRates(t *testing.T) {
	limits, err := app.Config{AccountRate: "free=7,pro=0", AddressRate: 9}.Rates()
	require.NoError(t, err)
	require.Equal(t, rates.Limits{
		Accounts: map[string]int{
			"free": 7, "indie": 500, "pro": 0, "premium": 500, "enterprise": 500,
		}, Address: 9, Failures: 10,
	}, limits)
	for _, wrong := range []app.Config{{AccountRate: "free"}, {AccountRate: "free=-1"}, {AccountRate: "gold=1"}} {
		_, err := wrong.Rates()
		require.Error(t, err)
	}
}
