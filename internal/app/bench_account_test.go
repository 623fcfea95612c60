package app_test

import (
	"net"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/benchtest"
	"github.com/recital-tts/recital/internal/postgres"
	"github.com/recital-tts/recital/internal/postgres/pgtest"
)

// serveRow is a bare Fiber route that reads one row of the same database by its key.
func serveRow(b *testing.B, pool *pgxpool.Pool) (address string) {
	b.Helper()
	bare := fiber.New(fiber.Config{DisableStartupMessage: true})
	bare.Get("/v1/account", func(c *fiber.Ctx) error {
		var plan string
		err := pool.QueryRow(c.Context(), "select plan from read_v3.accounts where account_id = $1", c.Get("x-account")).Scan(&plan)
		if err != nil {
			return err
		}
		return c.JSON(map[string]string{"plan": plan})
	})
	return serveBare(b, bare)
}

// serveBare serves routes until the benchmark ends.
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

// BenchmarkGetAccount is GET /v1/account under eight clients, beside a bare Fiber and pgx route that reads one row.
func BenchmarkGetAccount(b *testing.B) {
	const clients, each = 8, 50
	cfg := config(b)
	cfg.Postgres = pgtest.URL(b)
	a := open(b, cfg)
	pool, err := postgres.Open(b.Context(), cfg.Postgres)
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
	for b.Loop() {
		require.NoError(b, oursRate.window(clients, each, askOurs))
		require.NoError(b, itsRate.window(clients, each, askBare))
	}
	compareTimes(b, &ours, &its, benchtest.NoTarget(), benchtest.NoTarget())
	benchtest.Compare(b, "requests/s", oursRate.perSecond(), itsRate.perSecond(), benchtest.RatioAtLeast(0.8))
	benchtest.Finish(b)
}
