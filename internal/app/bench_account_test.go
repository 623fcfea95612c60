package app_test

import (
	"net"
	"runtime"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/postgres"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// serveRow serves a bare Fiber route that reads one row of the same database by its key.
func serveRow(b *testing.B, pool *pgxpool.Pool) (address string) {
	b.Helper()
	bare := fiber.New(fiber.Config{DisableStartupMessage: true})
	bare.Get("/v1/account", func(c *fiber.Ctx) error {
		var plan string
		err := pool.QueryRow(c.Context(), "select plan from read_v1.accounts where account_id = $1",
			c.Get("x-account")).Scan(&plan)
		if err != nil {
			return err
		}
		return c.JSON(map[string]string{"plan": plan})
	})
	return serveBare(b, bare)
}

// serveBare serves routes until the end of the benchmark.
func serveBare(b *testing.B, bare *fiber.App) (address string) {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	served := make(chan error, 1)
	go func() { served <- bare.Listener(listener) }()
	b.Cleanup(func() {
		require.NoError(b, bare.Shutdown())
		require.NoError(b, <-served)
	})
	return listener.Addr().String()
}

// allocated returns the number of objects that this process, clients included, allocates during do.
func allocated(do func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs - before.Mallocs)
}

// BenchmarkGetAccount measures GET /v1/account with eight clients, compared with a bare Fiber and pgx route that reads
// one row. The number of objects per request does not depend on the load of the machine.
func BenchmarkGetAccount(b *testing.B) {
	const clients, each = 8, 50
	cfg := config(b)
	cfg.Postgres = pgtest.URL(b)
	a := open(b, cfg)
	pool, err := postgres.NewPool(b.Context(), cfg.Postgres, "")
	require.NoError(b, err)
	b.Cleanup(pool.Close)

	ask := func(conns []*client, request string, taken *times) func(int) (float64, error) {
		return func(client int) (float64, error) {
			answered, err := conns[client].ask(request)
			taken.add(answered)
			return 1, err
		}
	}
	const get = "GET /v1/account HTTP/1.1\r\nHost: recital\r\n"
	var ours, its times
	askOurs := ask(dialAll(b, clients, a.PublicAddr()), get+"x-api-key: "+secret(b, cfg, "dev-api-key")+"\r\n\r\n", &ours)
	askBare := ask(dialAll(b, clients, serveRow(b, pool)), get+"x-account: operator\r\n\r\n", &its)

	var oursRate, itsRate rate
	var oursAllocated, itsAllocated, oursBusy, itsBusy float64
	for b.Loop() {
		oursBusy += busyWithPostgres(b, pool, func() {
			oursAllocated += allocated(func() { require.NoError(b, oursRate.window(clients, each, askOurs)) })
		})
		itsBusy += busyWithPostgres(b, pool, func() {
			itsAllocated += allocated(func() { require.NoError(b, itsRate.window(clients, each, askBare)) })
		})
	}
	benchtest.Compare(b, "cpu-µs", oursBusy/oursRate.done, itsBusy/itsRate.done)
	benchtest.Compare(b, "allocs/request", oursAllocated/oursRate.done, itsAllocated/itsRate.done)
	compareTimes(b, &ours, &its)
	benchtest.Compare(b, "requests/s", oursRate.perSecond(), itsRate.perSecond())
	benchtest.Finish(b)
}
