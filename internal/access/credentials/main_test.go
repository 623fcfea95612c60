package credentials_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/commands/sessions"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/access/credentials"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/events/eventnode"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
)

// TestMain ignores a goroutine that toxiproxy may leave when a connection is cut with data on its way.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*NoopToxic).Pipe"))
}

// patience bounds all waits, also on a busy machine.
const patience = time.Minute

var operator = journal.Origin{Actor: eventlog.Actor{Kind: eventlog.ActorOperator}}

// world is a log in a real node with two connections: a direct one, and one through a proxy that tests can cut.
type world struct {
	t        testing.TB
	registry *eventlog.Registry
	log      eventlog.Log // the direct connection
	far      eventlog.Log // through the proxy
	proxy    *toxiproxy.Proxy
	accounts *accounts.Accounts
	sessions *sessions.Sessions
}

func newWorld(t testing.TB) *world {
	t.Helper()
	dir := nodetest.Dir(t)
	node, err := eventnode.Open(eventnode.Config{
		Dir: filepath.Join(dir, "log"), Socket: nodetest.Socket(dir), Address: "127.0.0.1:0",
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, node.Close()) })
	proxy := toxiproxy.NewProxy(toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()), "way",
		"127.0.0.1:0", node.Addr().String())
	require.NoError(t, proxy.Start())
	t.Cleanup(proxy.Stop)

	w := &world{t: t, proxy: proxy}
	w.log = openLog(t, esdb.Config{Socket: nodetest.Socket(dir)})
	w.far = openLog(t, esdb.Config{
		ConnectionString: "esdb://" + proxy.Listen + "?tls=false&gossipTimeout=1",
		AttemptTimeout:   300 * time.Millisecond, BreakerPause: 20 * time.Millisecond, MaxBackOff: 50 * time.Millisecond,
	})
	w.registry, err = eventlog.NewRegistry(append(accounts.Events(), sessions.Events()...)...)
	require.NoError(t, err)
	j := &journal.Journal{Log: w.log, Registry: w.registry}
	w.accounts = accounts.New(j, time.Now)
	w.sessions = sessions.New(sessions.Config{
		Journal: j, Accounts: w.accounts, Now: time.Now, Limits: sessions.Limits{Length: time.Hour, Idle: time.Hour,
			Rotate: time.Hour, Live: 100},
	})
	return w
}

func openLog(t testing.TB, config esdb.Config) *esdb.Client {
	t.Helper()
	client, err := esdb.Open(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

// cut closes the connections through the proxy and refuses new ones, until join.
func (w *world) cut()  { w.proxy.Stop() }
func (w *world) join() { require.NoError(w.t, w.proxy.Start()) }

// stall lets no data through, and leaves the connections open.
func (w *world) stall() {
	for _, direction := range []string{"upstream", "downstream"} {
		_, err := w.proxy.Toxics.AddToxicJson(
			strings.NewReader(`{"type": "timeout", "attributes": {"timeout": 0}, "stream": "` + direction + `"}`))
		require.NoError(w.t, err)
	}
}

// config is for a watcher that follows the log through the proxy and reads accounts directly.
func (w *world) config() credentials.Config {
	head, err := w.log.Head(w.t.Context())
	require.NoError(w.t, err)
	return credentials.Config{
		Log: w.far, After: head, Registry: w.registry, Accounts: w.accounts, Sessions: w.sessions,
		Logger: slog.New(slog.DiscardHandler),
	}
}

// strictly is config for a watcher that verifies its cache at each look-up.
func (w *world) strictly() credentials.Config {
	config := w.config()
	config.Log, config.Lease, config.Wait = w.log, -1, patience
	return config
}

// watcher runs a watcher until the test ends.
func (w *world) watcher(config credentials.Config) *credentials.Watcher {
	w.t.Helper()
	watcher := credentials.New(config)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- watcher.Run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		require.NoError(w.t, <-ended)
	})
	return watcher
}

// key is an API key of an account.
type key struct{ account, text, masked string }

func (k key) hash() string { return account.HashAPIKey(k.text) }

func (k key) credential() credentials.Credential {
	return credentials.Credential{Account: k.account, Kind: credentials.APIKey, Name: k.masked}
}

// open opens an account with a key.
func (w *world) open() key {
	w.t.Helper()
	opened, err := w.accounts.Open(w.t.Context(), "indie", operator)
	require.NoError(w.t, err)
	return key{account: opened.Account, text: opened.Key.Key, masked: opened.Key.Masked}
}

// add gives an account another key.
func (w *world) add(account string) key {
	w.t.Helper()
	made, err := w.accounts.CreateKey(w.t.Context(), account, "", operator)
	require.NoError(w.t, err)
	return key{account: account, text: made.Key, masked: made.Masked}
}

func (w *world) revoke(k key) {
	w.t.Helper()
	_, err := w.accounts.RevokeKey(w.t.Context(), k.account, k.masked, operator)
	require.NoError(w.t, err)
}

// requireFound requires that the key belongs to its account.
func requireFound(t require.TestingT, w *credentials.Watcher, k key) {
	found, err := w.FindKey(context.Background(), k.hash())
	require.NoError(t, err)
	require.Equal(t, k.credential(), found.Credential)
	require.EqualValues(t, "indie", found.Entitlement.Plan)
}

func requireUnknown(t require.TestingT, w *credentials.Watcher, k key) {
	_, err := w.FindKey(context.Background(), k.hash())
	require.ErrorIs(t, err, credentials.ErrUnknownKey)
}

func isUnknown(w *credentials.Watcher, k key) bool {
	_, err := w.FindKey(context.Background(), k.hash())
	return domain.CodeOf(err) == domain.Unauthenticated
}

func eventually(t *testing.T, condition func() bool, because ...any) {
	t.Helper()
	require.Eventually(t, condition, patience, time.Millisecond, because...)
}

func live(w *credentials.Watcher) func() bool { return func() bool { return w.Stats().Live } }

// requireCached looks a key up until it is cached.
func requireCached(t *testing.T, w *credentials.Watcher, k key) {
	t.Helper()
	eventually(t, func() bool {
		before := w.Stats().Hits
		requireFound(t, w, k)
		return w.Stats().Hits > before
	}, "the key is never cached")
}
