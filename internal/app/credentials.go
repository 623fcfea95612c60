package app

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/credentials"
	"github.com/recital-tts/recital/internal/credentials/pglookup"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/lifecycle"
	"github.com/recital-tts/recital/internal/readmodel"
	"github.com/recital-tts/recital/internal/web"
)

// watchCredentials begins to follow the log for revoked credentials. It comes before anything is served.
func (a *App) watchCredentials(ctx context.Context) error {
	head, err := a.journal.Log.Head(ctx)
	if err != nil {
		return err
	}
	watcher, err := credentials.Open(ctx, credentials.Config{
		Log: a.journal.Log, Registry: a.journal.Registry, Accounts: a.accounts, Logger: a.log,
		Unissued: pglookup.Keys{Pool: a.pool, Current: a.showsAccounts(head)},
		Outage:   a.cfg.OutageReads,
	})
	if err != nil {
		return err
	}
	a.credentials = watcher
	a.metrics.registry.MustRegister(credentialMetrics(watcher.Stats)...)
	a.running.Add(lifecycle.Background("the watch for revocations", watcher.Run))
	return nil
}

// showsAccounts returns a function that reports whether the read model of accounts has reached a position.
func (p *parts) showsAccounts(position eventlog.Position) func() bool {
	return func() bool { return p.projector.Reached(readmodel.Account).Compare(position) >= 0 }
}

// access lets requests in with what they show.
type access func(ctx context.Context, hash string) (credentials.Verified, error)

// APIKey implements web.Authenticator. What cannot be a key is refused without a look-up.
func (find access) APIKey(ctx context.Context, key string) (web.Principal, error) {
	if !account.WellFormedAPIKey(key) {
		return web.Principal{}, credentials.ErrUnknownKey
	}
	found, err := find(ctx, account.HashAPIKey(key))
	if err != nil {
		return web.Principal{}, err
	}
	return web.Principal{Account: found.Account, Key: found.Name, Plan: string(found.Plan)}, nil
}

// revocations end what a credential has opened.
type revocations struct{ credentials *credentials.Watcher }

// Watch implements web.Revocations.
func (r revocations) Watch(principal web.Principal, revoked func()) (stop func()) {
	return r.credentials.Watch(credentials.Credential{Account: principal.Account, Kind: credentials.APIKey, Name: principal.Key}, revoked)
}

func credentialMetrics(stats func() credentials.Stats) []prometheus.Collector {
	figure := func(name, help string, value func(credentials.Stats) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(stats()) })
	}
	total := func(name, help string, value func(credentials.Stats) uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(value(stats())) })
	}
	return []prometheus.Collector{
		total("recital_api_key_cache_hits_total", "API keys that were found in the cache.", func(s credentials.Stats) uint64 { return s.Hits }),
		total("recital_api_key_cache_misses_total", "API keys that were looked up in the log.", func(s credentials.Stats) uint64 { return s.Misses }),
		figure("recital_api_key_cache_keys", "API keys in the cache.", func(s credentials.Stats) float64 { return float64(s.Cached) }),
		figure("recital_revocation_watches", "Open WebSockets and streams that a revocation would end.", func(s credentials.Stats) float64 { return float64(s.Watches) }),
		figure("recital_revocation_live", "1 while the log is followed; otherwise each API key is looked up in the log.", func(s credentials.Stats) float64 {
			if s.Live {
				return 1
			}
			return 0
		}),
	}
}
