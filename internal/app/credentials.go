package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/commands/sessions"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/access/credentials"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/process/lifecycle"
)

// watchCredentials begins to follow the log for revoked credentials. It comes before anything is served.
func (a *App) watchCredentials(ctx context.Context) error {
	watcher, err := credentials.Open(ctx, credentials.Config{
		Log: a.journal.Log, Registry: a.journal.Registry, Accounts: a.accounts, Sessions: a.sessions, Logger: a.log,
		Unconfirmed: a.skips.Unconfirmed,
		Outage:      a.cfg.OutageReads, Idle: a.cfg.sessions().Idle,
	})
	if err != nil {
		return err
	}
	a.credentials = watcher
	a.skips.OnChange(watcher.Recheck)
	a.metrics.registry.MustRegister(credentialMetrics(watcher.Stats)...)
	a.running.Add(lifecycle.Background("the watch for revocations", watcher.Run))
	return nil
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
	return web.Principal{Account: found.Account, Key: found.Name, Plan: planOf(found), Operator: found.Operator}, nil
}

// planOf returns the plan of now: a cancelled one ends at its time, whether or not an event has said so.
func planOf(found credentials.Verified) string { return string(found.Entitlement.At(time.Now()).Plan) }

// revocations end what a credential has opened.
type revocations struct{ credentials *credentials.Watcher }

// Watch implements web.Revocations.
func (r revocations) Watch(principal web.Principal, revoked func()) (stop func()) {
	shown := credentials.Credential{Account: principal.Account, Kind: credentials.APIKey, Name: principal.Key}
	if principal.Session != "" {
		shown.Kind, shown.Name = credentials.Session, principal.Session
	}
	return r.credentials.Watch(shown, principal.SessionOpened, revoked)
}

// browsers lets requests in with the sessions that they show.
type browsers struct {
	credentials *credentials.Watcher
	sessions    *sessions.Sessions
	log         *slog.Logger
}

// useTimeout bounds what a request waits until the use of its session is in the log. A use that gets no answer is noted
// by a later request.
const useTimeout = time.Second

// Session implements web.Sessions. What cannot be a session is refused without a look-up.
func (b browsers) Session(ctx context.Context, cookie string, use web.SessionUse) (web.Session, error) {
	shown, ok := session.ParseCookie(cookie)
	if !ok {
		return web.Session{}, credentials.ErrUnknownSession
	}
	find := b.credentials.FindSession
	if use.OnlyReads {
		find = b.credentials.FindSessionToRead
	}
	found, err := find(ctx, shown)
	if replayed := new(credentials.ReplayedError); errors.As(err, &replayed) {
		b.endReplayed(ctx, replayed)
	}
	if err != nil {
		return web.Session{}, err
	}
	live := web.Session{Expires: found.Session.ExpiresAt, CrossSite: found.Session.CrossSite, Principal: web.Principal{
		Account: found.Account, Session: found.Name, Plan: planOf(found), Operator: found.Operator, SessionOpened: found.Session.OpenedAt,
	}}
	if next := b.use(ctx, found, shown, use); next != shown {
		live.Renewed = next.Value()
	}
	return live, nil
}

// endReplayed ends a session whose cookie two clients have had. What fails is left to the next time that it is shown.
func (b browsers) endReplayed(ctx context.Context, replayed *credentials.ReplayedError) {
	ctx, cancel := context.WithTimeout(ctx, useTimeout)
	defer cancel()
	err := b.sessions.EndReplayed(ctx, replayed.Account, replayed.Session)
	b.log.WarnContext(ctx, "a secret of a session was shown that had been replaced; the session ends", "session", replayed.Session, "error", err)
}

// use notes that a session is in use, and returns the cookie that the browser should show from now on.
func (b browsers) use(ctx context.Context, found credentials.Verified, shown session.Cookie, use web.SessionUse) session.Cookie {
	if !b.sessions.Due(found.Session, shown, use.KeepsOld) {
		return shown
	}
	ctx, cancel := context.WithTimeout(ctx, useTimeout)
	defer cancel()
	origin := journal.Origin{Actor: eventlog.Actor{Kind: eventlog.ActorAccount, Account: found.Account, Session: found.Name}}
	next, err := b.sessions.Use(ctx, shown, use.KeepsOld, origin)
	if err != nil {
		b.log.DebugContext(ctx, "the use of a session was not noted", "session", found.Name, "error", err)
		return shown
	}
	return next
}

func credentialMetrics(stats func() credentials.Stats) []prometheus.Collector {
	figure := func(name, help string, value func(credentials.Stats) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(stats()) })
	}
	total := func(name, help string, value func(credentials.Stats) uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(value(stats())) })
	}
	return []prometheus.Collector{
		total("recital_api_key_cache_hits_total", "API keys and sessions that were found in the cache.", func(s credentials.Stats) uint64 { return s.Hits }),
		total("recital_api_key_cache_misses_total", "API keys and sessions that were looked up in the log.", func(s credentials.Stats) uint64 { return s.Misses }),
		figure("recital_api_key_cache_keys", "API keys and sessions in the cache.", func(s credentials.Stats) float64 { return float64(s.Cached) }),
		figure("recital_revocation_watches", "Open WebSockets and streams that a revocation would end.", func(s credentials.Stats) float64 { return float64(s.Watches) }),
		figure("recital_revocation_live", "1 while the log is followed; otherwise each API key and session is looked up in the log.", func(s credentials.Stats) float64 {
			if s.Live {
				return 1
			}
			return 0
		}),
	}
}
