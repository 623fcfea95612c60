package app_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/process/postgres"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// writeYear gives an account usage on each of the last 366 days, in 13 periods, and waits until it can be read.
func writeYear(b *testing.B, cfg app.Config, pool *pgxpool.Pool, id string) {
	b.Helper()
	log := joinLog(b, cfg.DataDir)
	today := time.Now().UTC().Truncate(24 * time.Hour)
	for period := range 13 {
		begin := today.AddDate(0, 0, -365+period*30)
		events := []any{ledger.PeriodOpened{Account: id, Plan: plan.Enterprise, Start: begin, End: begin.AddDate(0, 0, 30)}}
		for day := begin; day.Before(begin.AddDate(0, 0, 30)) && !day.After(today); day = day.AddDate(0, 0, 1) {
			events = append(events, ledger.Settled{
				Account: id, Reservation: uuid.NewString(), Characters: 100, Source: ledger.API, Start: begin, At: day,
			})
		}
		appendTo(b, log, fmt.Sprintf("usage-%s-%d", id, begin.Unix()), eventlog.NoStream, events...)
	}
	require.Eventually(b, func() bool {
		var days int
		err := pool.QueryRow(b.Context(), "select count(*) from read_v1.daily_usage where account_id = $1", id).Scan(&days)
		return err == nil && days == 366
	}, patience, pause)
}

type (
	barePeriod struct {
		Plan                string `json:"plan"`
		PeriodEnd           int64  `json:"period_end"`
		CharsUsed           int64  `json:"chars_used"`
		PlaygroundCharsUsed int64  `json:"playground_chars_used"`
	}
	bareDay struct {
		APICharsUsed        int64  `json:"api_chars_used"`
		PlaygroundCharsUsed int64  `json:"playground_chars_used"`
		Day                 string `json:"day"`
	}
	bareSession struct {
		ID        string  `json:"id"`
		Country   *string `json:"country"`
		CreatedAt int64   `json:"created_at"`
		UpdatedAt int64   `json:"updated_at"`
	}
)

// openSessions opens sessions of an account and waits until they can be read.
func openSessions(b *testing.B, a *app.App, pool *pgxpool.Pool, id string, count int) {
	b.Helper()
	for range count {
		_, _, err := a.Sessions().Open(b.Context(), id, session.Client{
			UserAgent: "Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0", Address: "192.0.2.7",
		}, journal.System())
		require.NoError(b, err)
	}
	require.Eventually(b, func() bool {
		var shown int
		err := pool.QueryRow(b.Context(), "select count(*) from read_v1.sessions where account_id = $1", id).Scan(&shown)
		return err == nil && shown == count
	}, patience, pause)
}

// serveRows serves a bare Fiber route that returns the same rows of the same database.
func serveRows[R any](b *testing.B, pool *pgxpool.Pool, query string) (address string) {
	b.Helper()
	bare := fiber.New(fiber.Config{DisableStartupMessage: true})
	bare.Get("/", func(c *fiber.Ctx) error {
		rows, err := pool.Query(c.Context(), query, c.Get("x-account"))
		if err != nil {
			return err
		}
		all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[R])
		if err != nil {
			return err
		}
		return c.JSON(all)
	})
	return serveBare(b, bare)
}

// BenchmarkLists measures each list of an account (a year of history, 20 sessions) with eight clients, compared with a
// bare Fiber and pgx route that returns the same rows.
func BenchmarkLists(b *testing.B) {
	const clients, each = 8, 20
	cfg := config(b)
	cfg.Postgres = pgtest.URL(b)
	a := open(b, cfg)
	pool, err := postgres.NewPool(b.Context(), cfg.Postgres, "")
	require.NoError(b, err)
	b.Cleanup(pool.Close)
	writeYear(b, cfg, pool, "operator")
	openSessions(b, a, pool, "operator", 20)

	for route, bare := range map[string]func(*testing.B) string{
		"billing_history": func(b *testing.B) string {
			return serveRows[barePeriod](b, pool,
				`select plan, extract(epoch from period_end)::bigint, characters, playground_characters
				from read_v1.usage_periods where account_id = $1 order by period_start desc`)
		},
		"daily_usage_history": func(b *testing.B) string {
			return serveRows[bareDay](b, pool, `select api_characters, playground_characters, to_char(day, 'YYYY-MM-DD')
				from read_v1.daily_usage where account_id = $1 order by day`)
		},
		"sessions": func(b *testing.B) string { // without the sealed devices
			return serveRows[bareSession](b, pool,
				`select session_id, country, extract(epoch from opened_at)::bigint, extract(epoch from seen_at)::bigint
				from read_v1.sessions where account_id = $1 order by opened_at desc`)
		},
	} {
		b.Run(route, func(b *testing.B) {
			ask := func(conns []*client, request string, taken *times) func(int) (float64, error) {
				return func(client int) (float64, error) {
					answered, err := conns[client].ask(request)
					taken.add(answered)
					return 1, err
				}
			}
			var ours, its times
			askOurs := ask(dialAll(b, clients, a.PublicAddr()),
				"GET /v1/account/"+route+" HTTP/1.1\r\nHost: recital\r\nx-api-key: "+secret(b, cfg, "dev-api-key")+"\r\n\r\n",
				&ours)
			askBare := ask(dialAll(b, clients, bare(b)), "GET / HTTP/1.1\r\nHost: recital\r\nx-account: operator\r\n\r\n", &its)
			var oursRate, itsRate rate
			for b.Loop() {
				require.NoError(b, oursRate.window(clients, each, askOurs))
				require.NoError(b, itsRate.window(clients, each, askBare))
			}
			compareTimes(b, &ours, &its)
			benchtest.Compare(b, "requests/s", oursRate.perSecond(), itsRate.perSecond())
			benchtest.Finish(b)
		})
	}
}
