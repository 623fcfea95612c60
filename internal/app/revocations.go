package app

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/internal/revocation"
)

// watchRevocations begins to follow the log for revoked keys. It comes before anything is served.
func (a *App) watchRevocations(ctx context.Context) error {
	watcher, err := revocation.Open(ctx, revocation.Config{
		Log: a.journal.Log, Registry: a.journal.Registry, Accounts: a.accounts, Owners: owners{a.pool}, Logger: a.log,
	})
	if err != nil {
		return err
	}
	a.watcher = watcher
	a.metrics.registry.MustRegister(revocationMetrics(watcher.Stats)...)
	a.background("the watch for revocations", watcher.Run)
	return nil
}

func revocationMetrics(stats func() revocation.Stats) []prometheus.Collector {
	figure := func(name, help string, value func(revocation.Stats) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(stats()) })
	}
	total := func(name, help string, value func(revocation.Stats) uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(value(stats())) })
	}
	return []prometheus.Collector{
		total("recital_api_key_cache_hits_total", "API keys that were known.", func(s revocation.Stats) uint64 { return s.Hits }),
		total("recital_api_key_cache_misses_total", "API keys that were looked up.", func(s revocation.Stats) uint64 { return s.Misses }),
		figure("recital_api_key_cache_keys", "API keys that are known.", func(s revocation.Stats) float64 { return float64(s.Keys) }),
		figure("recital_revocation_watches", "Open WebSockets and streams that a revocation would end.", func(s revocation.Stats) float64 { return float64(s.Watches) }),
		figure("recital_revocation_live", "1 while the log is followed; otherwise each API key is looked up in the log.", func(s revocation.Stats) float64 {
			if s.Live {
				return 1
			}
			return 0
		}),
	}
}
