package stripe_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/providers/payments"
	"github.com/recital-tts/recital/internal/providers/payments/stripe"
)

// counter is a provider that records its requests.
type counter struct {
	mu    sync.Mutex
	asked []string
}

func startCounter(t *testing.T) (*counter, string) {
	c := &counter{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.asked = append(c.asked, path.Base(r.URL.Path))
		c.mu.Unlock()
		_, err := w.Write([]byte(`{"id":"cus_1","object":"customer"}`))
		assert.NoError(t, err)
	}))
	t.Cleanup(server.Close)
	return c, server.URL
}

func (c *counter) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}

func TestARequestThatWouldWaitTooLongIsRefused(t *testing.T) {
	c, address := startCounter(t)
	g := openAt(t, stripe.Config{URL: address, Rate: 1, Pause: time.Hour})
	_, err := g.AccountOf(t.Context(), "first")
	require.NoError(t, err)
	for range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := g.AccountOf(ctx, "refused")
		cancel()
		require.ErrorIs(t, err, payments.ErrUnavailable)
		assert.Equal(t, time.Second, pauseOf(t, err))
	}
	_, err = g.AccountOf(t.Context(), "second")
	require.NoError(t, err, "the refusals were not an outage")
	assert.Equal(t, []string{"first", "second"}, c.all())
}

// The time of an attempt does not include waiting.
func TestAnAttemptBeginsAfterItsWait(t *testing.T) {
	c, address := startCounter(t)
	g := openAt(t, stripe.Config{URL: address, Rate: 2, Timeout: 400 * time.Millisecond})
	var sent sync.WaitGroup
	for range 4 {
		sent.Go(func() {
			_, err := g.AccountOf(t.Context(), "cus_1")
			assert.NoError(t, err)
		})
	}
	sent.Wait()
	assert.Len(t, c.all(), 4, "none was repeated")
}
