package billing_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/providers/payments/stripe"
)

// limited is the way to a provider that permits a number of requests in any second, and refuses those beyond it.
type limited struct {
	http.Handler
	perSecond int

	mu      sync.Mutex
	recent  []time.Time // of the last second
	refused int
}

func (s *shop) limited(perSecond int) (*limited, string) {
	target, err := url.Parse(s.sandbox.URL())
	require.NoError(s.T, err)
	l := &limited{Handler: httputil.NewSingleHostReverseProxy(target), perSecond: perSecond}
	server := httptest.NewServer(l)
	s.T.Cleanup(server.Close)
	return l, server.URL
}

// ServeHTTP implements http.Handler.
func (l *limited) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !l.permits(time.Now()) {
		http.Error(w, "too many requests", http.StatusTooManyRequests)
		return
	}
	l.Handler.ServeHTTP(w, r)
}

func (l *limited) permits(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.recent) > 0 && now.Sub(l.recent[0]) >= time.Second {
		l.recent = l.recent[1:]
	}
	if len(l.recent) >= l.perSecond {
		l.refused++
		return false
	}
	l.recent = append(l.recent, now)
	return true
}

// Behind a provider that permits 25 requests a second, 40 accounts subscribe at once, and another one after them.
func TestManySubscribeAtOnceBehindALimit(t *testing.T) {
	accounts := 40
	if testing.Short() {
		accounts = 10
	}
	s := newShop(t)
	l, address := s.limited(25)
	gateway, err := stripe.New(stripe.Config{Key: key, URL: address, Rate: 20, Now: s.sandbox.Now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, gateway.Close()) })
	b := s.instance(s.Log, gateway, "")
	subscribe := func() {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // as a request has
		defer cancel()
		made, err := b.Subscribe(ctx, uuid.NewString(), pro, none, origin)
		if assert.NoError(t, err) {
			assert.NotEmpty(t, made.ClientSecret)
		}
	}
	var all sync.WaitGroup
	began := time.Now()
	for range accounts {
		all.Go(subscribe)
	}
	all.Wait()
	subscribe()
	t.Logf("%d subscriptions in %v, %d requests were refused", accounts, time.Since(began), l.refused)
}
