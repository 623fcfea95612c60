package app_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
	"github.com/recital-tts/recital/internal/process/tracing/tracingtest"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// accountLoad returns a function that makes a client request an account.
func accountLoad(b *testing.B, a *app.App, key string, clients int) (ask func(client int) (float64, error)) {
	b.Helper()
	conns := dialAll(b, clients, a.PublicAddr())
	return func(client int) (float64, error) {
		_, err := conns[client].ask("GET /v1/account HTTP/1.1\r\nHost: recital\r\nx-api-key: " + key + "\r\n\r\n")
		return 1, err
	}
}

// BenchmarkScrape measures GET /v1/account with eight clients while /metrics is scraped ten times a second, a hundred
// times as often as Prometheus does, compared with the same without scrapes. The two alternate every second or so, so
// that other load affects both. scrape-cpu-ms is the processor time of a scrape in this process.
func BenchmarkScrape(b *testing.B) {
	const clients, turns, pause = 8, 6, 100 * time.Millisecond
	each := benchtest.Size(500, 100)
	cfg := config(b)
	cfg.Postgres = pgtest.URL(b)
	a := open(b, cfg)
	ask := accountLoad(b, a, secret(b, cfg, "dev-api-key"), clients)
	scraper, scrapes := dial(b, a.AdminAddr()), &times{}
	scrape := "GET /metrics HTTP/1.1\r\nHost: recital\r\nAuthorization: Bearer " + secret(b, cfg,
		"auditor-token") + "\r\n\r\n"
	scraping := func(ctx context.Context) error {
		for next := time.NewTicker(pause); ; {
			select {
			case <-ctx.Done():
				next.Stop()
				return nil
			case <-next.C:
			}
			took, err := scraper.ask(scrape)
			if err != nil {
				return err
			}
			scrapes.add(took)
		}
	}

	var scraped, alone rate
	for b.Loop() {
		for range turns {
			ctx, cancel := context.WithCancel(b.Context())
			stopped := make(chan error, 1)
			go func() { stopped <- scraping(ctx) }()
			require.NoError(b, scraped.window(clients, each, ask))
			cancel()
			require.NoError(b, <-stopped)
			require.NoError(b, alone.window(clients, each, ask))
		}
	}
	b.ReportMetric(float64(len(scrapes.all))/scraped.took.Seconds(), "scrapes/s")
	b.ReportMetric(milliseconds(busy(b, func() {
		for range 100 {
			_, err := scraper.ask(scrape)
			require.NoError(b, err)
		}
	}))/100, "scrape-cpu-ms")
	b.ReportMetric(milliseconds(scrapes.quantile(0.5)), "scrape-p50-ms")
	b.ReportMetric(milliseconds(scrapes.quantile(0.99)), "scrape-p99-ms")
	benchtest.Compare(b, "requests/s", scraped.perSecond(), alone.perSecond())
	benchtest.Finish(b)
}

// BenchmarkTraces measures GET /v1/account with eight clients and a trace for every request, compared with the same
// without traces.
func BenchmarkTraces(b *testing.B) {
	const clients, each = 8, 100
	start := func(endpoint string) func(int) (float64, error) {
		cfg := config(b)
		cfg.Postgres, cfg.TraceEndpoint = pgtest.URL(b), endpoint
		return accountLoad(b, open(b, cfg), secret(b, cfg, "dev-api-key"), clients)
	}
	askTraced, askBare := start(tracingtest.Open(b).URL), start("")

	var traced, bare rate
	for b.Loop() {
		require.NoError(b, traced.window(clients, each, askTraced))
		require.NoError(b, bare.window(clients, each, askBare))
	}
	benchtest.Compare(b, "requests/s", traced.perSecond(), bare.perSecond())
	benchtest.Finish(b)
}
