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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/billing"
	"github.com/recital-tts/recital/internal/providers/payments/stripe"
	"github.com/recital-tts/recital/internal/standins/sandbox"
)

// limited is a proxy that permits a number of requests in any second, and refuses the others.
type limited struct {
	http.Handler
	perSecond int

	mu      sync.Mutex
	recent  []time.Time // of the last second
	asked   int         // permitted requests
	refused int
}

func (s *world) limited(perSecond int) (*limited, string) {
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
	l.asked++
	return true
}

// calls records the requests of an operation to the provider.
type calls struct {
	http.Handler

	mu    sync.Mutex
	asked []string
}

// ServeHTTP implements http.Handler.
func (c *calls) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.asked = append(c.asked, r.Method+" "+r.URL.Path)
	c.mu.Unlock()
	c.Handler.ServeHTTP(w, r)
}

// counted returns an instance with recorded requests.
func (s *world) counted(coupon string) (*billing.Billing, *calls) {
	target, err := url.Parse(s.sandbox.URL())
	require.NoError(s.T, err)
	c := &calls{Handler: httputil.NewSingleHostReverseProxy(target)}
	server := httptest.NewServer(c)
	s.T.Cleanup(server.Close)
	return s.instance(s.Log, s.gateway(server.URL), coupon), c
}

func TestAnOperationAsksTheProviderFiveTimesAtMost(t *testing.T) {
	s := newWorld(t)
	b, c := s.counted(sandbox.WelcomeCoupon)
	subscribe := func(account string) error {
		_, err := b.Subscribe(t.Context(), account, pro, none, origin)
		return err
	}
	change := func(account, price string) error {
		_, err := b.ChangePlan(t.Context(), account, price, none, origin)
		return err
	}
	asks := func(most int, name string, do func() error) {
		t.Helper()
		c.asked = nil
		require.NoError(t, do(), name)
		t.Logf("%s: %d", name, len(c.asked))
		assert.LessOrEqual(t, len(c.asked), most, "%s: %s", name, c.asked)
	}
	fresh := accounts.NewAccountID()
	asks(5, "subscribe", func() error { return subscribe(fresh) })
	asks(5, "subscribe again", func() error { return subscribe(fresh) })
	account := s.subscribed(pro)
	card := s.register(account, "pm_card_mastercard")
	asks(5, "replace", func() error {
		_, err := b.ReplaceCard(t.Context(), account, card, none, origin)
		return err
	})
	asks(5, "downgrade", func() error { return change(account, indie) })
	asks(5, "drop", func() error {
		_, err := b.DropScheduledChange(t.Context(), account, none, origin)
		return err
	})
	asks(5, "upgrade", func() error { return change(account, premium) })
	asks(5, "cancel", func() error {
		_, err := b.Cancel(t.Context(), account, none, origin)
		return err
	})
	asks(5, "uncancel", func() error {
		_, err := b.Uncancel(t.Context(), account, none, origin)
		return err
	})
	other := s.subscribed(pro)
	require.NoError(t, change(other, indie))
	asks(5, "upgrade in place of a downgrade", func() error { return change(other, premium) })
	asks(5, "register a card", func() error {
		_, err := b.CreateSetup(t.Context(), other, none, origin)
		return err
	})
	require.NoError(t, change(other, indie))
	asks(6, "replace beside a downgrade", func() error {
		_, err := b.ReplaceCard(t.Context(), other, s.register(other, "pm_card_mastercard"), none, origin)
		return err
	})
}

// A change, whose look does not read disputes and refunds, does not change the recorded ones.
func TestAChangeLeavesWhatWasRefundedAndDisputed(t *testing.T) {
	s := newWorld(t)
	account := s.subscribed(pro)
	invoice := s.has(account).Invoices[0].ID
	require.NoError(t, s.sandbox.Refund(invoice, 100))
	s.Must(s.sandbox.Dispute(invoice))
	s.Must(s.Refresh(t.Context(), account))
	before := s.state(account).Invoices[0]
	require.EqualValues(t, 100, before.Refunded)
	require.True(t, before.Disputed)
	s.Must(s.ChangePlan(t.Context(), account, premium, none, origin))
	require.Equal(t, before, s.state(account).Invoices[0])
}

// Behind a provider that permits 25 requests a second, 40 accounts subscribe concurrently, and another one after them.
func TestManySubscribeAtOnceBehindALimit(t *testing.T) {
	many := 40
	if testing.Short() {
		many = 10
	}
	s := newWorld(t)
	l, address := s.limited(25)
	gateway, err := stripe.New(stripe.Config{Key: key, URL: address, Rate: 20, Now: s.sandbox.Now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, gateway.Close()) })
	b := s.instance(s.Log, gateway, "")
	subscribe := func() {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // like a request
		defer cancel()
		made, err := b.Subscribe(ctx, accounts.NewAccountID(), pro, none, origin)
		if assert.NoError(t, err) {
			assert.NotEmpty(t, made.ClientSecret)
		}
	}
	var all sync.WaitGroup
	began := time.Now()
	for range many {
		all.Go(subscribe)
	}
	all.Wait()
	subscribe()
	t.Logf("%d subscriptions in %v, %d requests were refused", many, time.Since(began), l.refused)
}
