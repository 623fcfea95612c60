package web_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/rates"
	"github.com/recital-tts/recital/internal/http/web"
)

// perAccount returns a limiter for accounts, which have no plan here.
func perAccount(t testing.TB, perSecond int) *rates.Limiter {
	t.Helper()
	limiter := rates.New(rates.Limits{Accounts: map[string]int{"": perSecond}})
	return limiter
}

// emptied uses up an account's rate for longer than the test takes.
func emptied(t testing.TB, limiter *rates.Limiter, account string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	for range 10_000 {
		go func() { _ = limiter.WaitAccount(ctx, account, "") }()
	}
	require.Eventually(t, func() bool { return !limiter.Account(account, "") }, time.Minute, time.Millisecond)
}

func TestOnlyAppendingRequestsCountForTheRates(t *testing.T) {
	// given an account that has used up its rate
	limiter := perAccount(t, 1)
	emptied(t, limiter, "acc-1")
	s := start(t, web.Config{Rates: limiter, Routes: []web.Route{
		web.Get("/read", ok), web.Get("/speak", ok, web.Appends()), web.Post("/write", ok), web.Put("/write", ok),
		web.Delete("/write", ok),
		web.Post("/echo", ok, web.AppendsNothing()), web.Post("/open", ok, web.Public()),
	}})
	for _, row := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/read", 200}, {"GET", "/speak", 429}, {"POST", "/write", 429}, {"PUT", "/write", 429},
		{"DELETE", "/write", 429},
		{"POST", "/echo", 200}, {"POST", "/open", 200},
	} {
		got := s.ask(row.method, row.path, "", "X-API-Key", goodKey)
		require.Equal(t, row.status, got.StatusCode, "%s %s", row.method, row.path)
		if row.status == 429 {
			require.Equal(t, "1", got.Header.Get("Retry-After"))
			require.Equal(t, "true", got.Header.Get("X-Should-Retry"))
			require.Contains(t, got.body, "Too many requests of this account")
		}
	}
	// and a wrong key gets 401 and does not count
	require.Equal(t, 401, s.ask("POST", "/write", "", "X-API-Key", "wrong").StatusCode)
}

func TestFreeChangesHaveABudgetOfTheirOwn(t *testing.T) {
	limiter := perAccount(t, 1)
	for limiter.FreeChange("acc-1", "") {
	}
	s := start(t, web.Config{Rates: limiter, Routes: []web.Route{
		web.Put("/name", ok, web.FreeChange()), web.Delete("/name", ok),
	}})
	got := s.ask("PUT", "/name", "", "X-API-Key", goodKey)
	require.Equal(t, 429, got.StatusCode)
	require.Equal(t, "10", got.Header.Get("Retry-After"))
	require.Contains(t, got.body, "Too many changes of this account")
	require.Equal(t, 200, s.ask("DELETE", "/name", "", "X-API-Key", goodKey).StatusCode, "what ends a thing")
}

// noAddress is a limiter that refuses all addresses.
type noAddress struct{ asked atomic.Pointer[netip.Addr] }

func (*noAddress) Account(string, string) bool { return true }

func (*noAddress) FreeChange(string, string) bool { return true }

func (*noAddress) Failure(netip.Addr) bool { return true }

func (n *noAddress) Address(address netip.Addr) bool {
	n.asked.Store(&address)
	return false
}

func TestAnAddressHasARateToo(t *testing.T) {
	var rates noAddress
	s := start(t, web.Config{
		Rates: &rates, Routes: []web.Route{web.Get("/read", ok), web.Post("/open", ok, web.Public())},
	})
	require.Equal(t, 200, s.ask("GET", "/read", "", "X-API-Key", goodKey).StatusCode)
	require.Nil(t, rates.asked.Load())
	got := s.ask("POST", "/open", "", "X-Forwarded-For", "192.0.2.1")
	require.Equal(t, 429, got.StatusCode)
	require.Contains(t, got.body, "Too many requests from this address")
	require.Equal(t, netip.MustParseAddr("127.0.0.1"), *rates.asked.Load(), "a client's own header is ignored")
}

// slowKeys looks up keys when the test allows it.
type slowKeys struct{ asked, answer chan struct{} }

func (k slowKeys) APIKey(ctx context.Context, key string) (web.Principal, error) {
	close(k.asked)
	<-k.answer
	return keys{}.APIKey(ctx, key)
}

// A client that disconnects immediately must not cause a permanent event.
func TestAnAppendingRequestDoesNotStartWithoutItsClient(t *testing.T) {
	found := slowKeys{make(chan struct{}), make(chan struct{})}
	began := make(chan struct{}, 1)
	ended := make(chan web.Observation, 1)
	s := start(t, web.Config{Authenticator: found, Observe: func(o web.Observation) { ended <- o }, Routes: []web.Route{
		web.Get("/speak", func(*web.Call, none) (web.Reply, error) {
			began <- struct{}{}
			return web.JSON("spoken"), nil
		}, web.Appends()),
	}})
	conn, err := net.Dial("tcp", s.addr)
	require.NoError(t, err)
	_, err = fmt.Fprintf(conn, "GET /speak HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n\r\n", goodKey)
	require.NoError(t, err)
	<-found.asked
	require.NoError(t, conn.Close())
	close(found.answer)
	require.Equal(t, 499, (<-ended).Status)
	require.Empty(t, began)
	require.NotContains(t, s.logs.String(), `"level":"ERROR"`)
}

// The payment provider's bursts of signed notices are not limited.
func TestSignedRequestsAreNotLimited(t *testing.T) {
	limiter := rates.New(rates.Limits{Address: 1})
	s := start(t, web.Config{
		Rates: limiter, Routes: []web.Route{web.Post("/webhook", ok, web.Signed()), web.Post("/open", ok, web.Public())},
	})
	held := false
	for range 20 {
		held = held || s.ask("POST", "/open", "").StatusCode == 429
		require.Equal(t, 200, s.ask("POST", "/webhook", "").StatusCode)
	}
	require.True(t, held, "the rate is over")
}
