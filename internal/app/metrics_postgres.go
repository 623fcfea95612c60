package app

import (
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
)

// observePool shows how the connections to Postgres are used.
func (m *metrics) observePool(pool *pgxpool.Pool) {
	gauge := func(name, help string, value func(*pgxpool.Stat) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(pool.Stat()) })
	}
	counter := func(name, help string, value func(*pgxpool.Stat) float64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return value(pool.Stat()) })
	}
	m.registry.MustRegister(
		gauge("recital_postgres_connections_max", "Connections to Postgres that there may be.", func(s *pgxpool.Stat) float64 { return float64(s.MaxConns()) }),
		gauge("recital_postgres_connections_busy", "Connections to Postgres that are in use.", func(s *pgxpool.Stat) float64 { return float64(s.AcquiredConns()) }),
		gauge("recital_postgres_connections_idle", "Connections to Postgres that are open and not in use.", func(s *pgxpool.Stat) float64 { return float64(s.IdleConns()) }),
		counter("recital_postgres_acquires_total", "Times that a connection to Postgres was taken.", func(s *pgxpool.Stat) float64 { return float64(s.AcquireCount()) }),
		counter("recital_postgres_waits_total", "Times that none was free, so that the caller waited for one or opened it.", func(s *pgxpool.Stat) float64 { return float64(s.EmptyAcquireCount()) }),
		counter("recital_postgres_wait_seconds_total", "Time that callers have waited for a connection to Postgres.", func(s *pgxpool.Stat) float64 { return s.EmptyAcquireWaitTime().Seconds() }),
		counter("recital_postgres_given_up_total", "Times that a caller's patience ended before there was a connection to Postgres.", func(s *pgxpool.Stat) float64 { return float64(s.CanceledAcquireCount()) }),
		counter("recital_postgres_connects_total", "Connections to Postgres that were opened.", func(s *pgxpool.Stat) float64 { return float64(s.NewConnsCount()) }),
	)
}
