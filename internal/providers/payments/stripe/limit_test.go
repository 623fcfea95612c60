package stripe_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/providers/payments"
	"github.com/recital-tts/recital/internal/providers/payments/stripe"
	"github.com/recital-tts/recital/internal/standins/sandbox"
)

// openAt returns a gateway to a provider at an address.
func openAt(t *testing.T, conf stripe.Config) *stripe.Gateway {
	t.Helper()
	conf.Key = key
	g, err := stripe.New(conf)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	return g
}

// pauseOf returns the time until another attempt, according to the error.
func pauseOf(t *testing.T, err error) time.Duration {
	t.Helper()
	var resting interface{ RetryAfter() time.Duration }
	require.True(t, errors.As(err, &resting), "%v", err)
	return resting.RetryAfter()
}

func TestARequestThatCameTooFastIsRepeated(t *testing.T) {
	s := openSandbox(t)
	g := openGateway(t, s)
	customer, subscription := subscribed(t, s, g)
	before, err := g.Billing(t.Context(), customer)
	require.NoError(t, err)
	require.NoError(t, s.Faults(sandbox.Fault{Do: sandbox.FaultLimit, Times: 3}))
	a := payments.Attempt{ID: uuid.NewString(), First: s.Now()}
	changed, err := g.ChangePrice(t.Context(), a,
		payments.PriceChange{Subscription: subscription, Price: sandbox.PriceOf("pro")})
	require.NoError(t, err)
	assert.Equal(t, sandbox.PriceOf("pro"), changed.Price)
	after, err := g.Billing(t.Context(), customer)
	require.NoError(t, err)
	assert.Len(t, after.Invoices, len(before.Invoices)+1)
}

// The circuit stays closed when the provider refuses requests because of its rate limit.
func TestTooManyRequestsAreNoOutage(t *testing.T) {
	s := openSandbox(t)
	g := openAt(t, stripe.Config{URL: s.URL(), Now: s.Now, Pause: time.Hour})
	require.NoError(t, s.Faults(sandbox.Fault{Do: sandbox.FaultLimit}))
	for range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := g.Prices(ctx)
		cancel()
		require.ErrorIs(t, err, payments.ErrUnavailable)
		require.Contains(t, err.Error(), "status 429", "the provider has answered")
	}
	require.NoError(t, s.Faults())
	_, err := g.Prices(t.Context())
	require.NoError(t, err)
}

func TestAPauseThatTheProviderAsksForIsKept(t *testing.T) {
	var refused time.Time
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if refused.IsZero() {
			refused = time.Now()
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		assert.GreaterOrEqual(t, time.Since(refused), time.Second)
		_, err := w.Write([]byte(`{"id":"cus_1","object":"customer","metadata":{"account":"mine"}}`))
		assert.NoError(t, err)
	}))
	t.Cleanup(server.Close)
	g := openAt(t, stripe.Config{URL: server.URL})
	account, err := g.AccountOf(t.Context(), "cus_1")
	require.NoError(t, err)
	assert.Equal(t, "mine", account)
}

// If the pause is longer than the caller's time, the error contains it, even for an answer that is not Stripe's.
func TestAPauseThatIsTooLongIsReported(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "60")
		http.Error(w, "hidden", http.StatusTooManyRequests)
	}))
	t.Cleanup(server.Close)
	g := openAt(t, stripe.Config{URL: server.URL})
	for range 10 {
		_, err := g.AccountOf(t.Context(), "cus_1")
		require.ErrorIs(t, err, payments.ErrUnavailable)
		assert.Contains(t, err.Error(), "status 429")
		assert.NotContains(t, err.Error(), "hidden")
		assert.Equal(t, time.Minute, pauseOf(t, err))
	}
}

// While the circuit is open, errors contain its remaining time.
func TestAnOpenCircuitReportsItsRemainingTime(t *testing.T) {
	s := openSandbox(t)
	g := openAt(t, stripe.Config{URL: s.URL(), Now: s.Now, Pause: time.Minute})
	require.NoError(t, s.Faults(sandbox.Fault{Do: sandbox.FaultRefuse}))
	var err error
	for range 6 {
		_, err = g.Prices(t.Context())
		require.ErrorIs(t, err, payments.ErrUnavailable)
	}
	assert.InDelta(t, time.Minute, pauseOf(t, err), float64(30*time.Second))
}
