package app_test

import (
	"crypto/rand"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/apikey"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/process/postgres"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// population is a service with many accounts, each with a key and a session.
type population struct {
	cfg     app.Config
	keys    []string // of some of the accounts
	cookies []string // of the same ones

	start        time.Duration // from Open to ready
	heap         uint64        // bytes in use after the look-ups
	first, again times         // of a look-up
}

const shownOf = 500 // the number of accounts that are looked up

// populate writes the accounts and waits until a service has read them.
func populate(b *testing.B, accounts int) *population {
	b.Helper()
	p := &population{cfg: config(b)}
	p.cfg.Postgres = pgtest.URL(b)
	a, err := app.Open(b.Context(), p.cfg, io.Discard)
	require.NoError(b, err)
	log, err := esdb.Open(esdb.Config{Socket: filepath.Join(p.cfg.DataDir, "eventnode", "node.sock")})
	require.NoError(b, err)
	registry, err := app.Registry()
	require.NoError(b, err)

	var writing errgroup.Group
	writing.SetLimit(256)
	for i := range accounts {
		key, err := account.DrawAPIKey(rand.Reader)
		require.NoError(b, err)
		cookie, err := session.DrawCookie(rand.Reader)
		require.NoError(b, err)
		if i%max(accounts/shownOf, 1) == 0 {
			p.keys, p.cookies = append(p.keys, key), append(p.cookies, cookie.Value())
		}
		writing.Go(func() error { return writeAccount(b, log, registry, fmt.Sprintf("%032x", i), key, cookie) })
	}
	require.NoError(b, writing.Wait())
	pool, err := postgres.NewPool(b.Context(), p.cfg.Postgres, "")
	require.NoError(b, err)
	defer pool.Close()
	for shown := 0; shown < accounts; time.Sleep(100 * time.Millisecond) {
		require.NoError(b, pool.QueryRow(b.Context(),
			"select least((select count(*) from read_v1.sessions), (select count(*) from read_v1.accounts))").Scan(&shown))
	}
	require.NoError(b, log.Close())
	require.NoError(b, a.Close())
	return p
}

// writeAccount writes an account with a key and a session.
func writeAccount(
	b *testing.B, log eventlog.Log, registry *eventlog.Registry, id, key string, cookie session.Cookie,
) error {
	at, hash := time.Now().UTC().Add(-time.Second), account.HashAPIKey(key)
	for stream, events := range map[string][]any{
		apikey.Stream(hash): {apikey.Issued{Hash: hash, Account: id, At: at}},
		account.Stream(id): {
			account.Opened{Account: id, Plan: plan.Free, At: at},
			account.APIKeyCreated{Account: id, Hash: hash, Masked: account.MaskAPIKey(key), At: at},
		},
		session.Stream(cookie.ID): {session.Opened{
			Session: cookie.ID, Account: id, SecretHash: cookie.Hash(), Provider: "idp_1", ExpiresAt: at.Add(24 * time.Hour),
			At: at,
		}},
	} {
		proposed, err := registry.Encode(uuid.New(), 0, eventlog.Metadata{
			Actor: eventlog.Actor{Kind: eventlog.ActorSystem}, Time: at,
		}, events...)
		if err != nil {
			return err
		}
		if _, err := log.Append(b.Context(), stream, eventlog.NoStream, proposed); err != nil {
			return err
		}
	}
	return nil
}

// use starts the service and looks accounts up by key and by session, twice each.
func (p *population) use(b *testing.B) {
	b.Helper()
	begun := time.Now()
	a, err := app.Open(b.Context(), p.cfg, io.Discard)
	require.NoError(b, err)
	p.start += time.Since(begun)
	client := dial(b, a.PublicAddr())
	for _, taken := range []*times{&p.first, &p.again} {
		for i := range p.keys {
			for _, credential := range []string{"x-api-key: " + p.keys[i], "cookie: svc-session=" + p.cookies[i]} {
				answered, err := client.ask("GET /v1/account HTTP/1.1\r\nHost: recital\r\n" + credential + "\r\n\r\n")
				require.NoError(b, err)
				taken.add(answered)
			}
		}
	}
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	p.heap = max(p.heap, stats.HeapAlloc)
	require.NoError(b, a.Close())
}

// BenchmarkPopulation measures the start, the memory (with the embedded node's) and look-ups by key and by session of a
// service with a million accounts, compared with one with ten thousand.
func BenchmarkPopulation(b *testing.B) {
	many, few := populate(b, benchtest.Size(1_000_000, 2_000)), populate(b, benchtest.Size(10_000, 1_000))
	rounds := 0
	for b.Loop() {
		many.use(b)
		few.use(b)
		rounds++
	}
	mean := func(p *population) float64 { return milliseconds(p.start) / float64(rounds) }
	mebibytes := func(p *population) float64 { return float64(p.heap) / math.Exp2(20) }
	benchtest.Compare(b, "start-ms", mean(many), mean(few))
	benchtest.Compare(b, "heap-MiB", mebibytes(many), mebibytes(few))
	for name, taken := range map[string][2]*times{
		"first-look-up-ms": {&many.first, &few.first}, "look-up-ms": {&many.again, &few.again},
	} {
		benchtest.Compare(b, name, milliseconds(taken[0].quantile(0.5)), milliseconds(taken[1].quantile(0.5)))
	}
	benchtest.Finish(b)
}
