package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/commands/sessions"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/access/credentials"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/console"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/docs"
	"github.com/recital-tts/recital/internal/http/web/openapi"
	"github.com/recital-tts/recital/internal/process/datafolder"
	"github.com/recital-tts/recital/internal/process/health"
	"github.com/recital-tts/recital/internal/process/lifecycle"
	"github.com/recital-tts/recital/internal/providers/signin"
)

func (a *App) serve(ctx context.Context) (err error) {
	warnOfFiles(a.log, a.cfg.Connections)
	operatorsPage, err := console.AdminRoutes()
	if err != nil {
		return err
	}
	a.admin, err = a.listen(a.cfg.AdminAddr, docs.Admin(), web.Config{
		Name: "admin", Routes: slices.Concat(a.service.admin, operatorsPage), NoCORS: true, Tokens: a.tokens,
		OperatorSessions: a.operatorSessions(),
		Record:           a.acts.Record,
	}, a.adminPart)
	if err != nil {
		return err
	}
	proxies, err := a.cfg.proxies()
	if err != nil {
		return err
	}
	origins, err := signin.ParseOrigins(a.cfg.RedirectOrigins)
	if err != nil {
		return err
	}
	page, err := console.Routes()
	if err != nil {
		return err
	}
	a.public, err = a.listen(a.cfg.HTTPAddr, docs.Public(a.links().Base()), web.Config{
		Name: "public", Routes: slices.Concat(a.service.public, page), Tokens: a.tokens, Record: a.acts.Record,
		Authenticator: access{a.credentials.FindKey, a.time.now},
		Readers:       access{a.credentials.FindKeyToRead, a.time.now},
		Sessions:      browsers{a.credentials, a.sessions, a.time.now, a.log},
		Revocations:   revocations{a.credentials},
		Rates:         a.rates,
		Positions:     positions{log: a.journal.Log, projector: a.projector},
		Limits:        a.cfg.limits(),
		Uploads:       a.uploads,
		Origins:       origins.Serialized(),
		Origin:        a.cfg.ownOrigin(),
		PlainCookies:  a.cfg.plainCookies(),
		Proxies:       proxies,
		CountryHeader: a.cfg.CountryHeader,
	}, a.publicPart)
	if err != nil {
		return err
	}
	if a.standIns != nil {
		if err := a.standIns.setWebhookURL("http://" + a.PublicAddr() + webhookPath); err != nil {
			return err
		}
	}
	return a.folder.Announce(datafolder.Addresses{Public: a.PublicAddr(), Admin: a.AdminAddr()})
}

func (a *App) adminPart(server *web.Server, ln net.Listener) lifecycle.Part {
	return lifecycle.Part{
		Run: func(context.Context) error { return server.Serve(ln) },
		Stop: func() error {
			ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
			defer cancel()
			return server.Shutdown(ctx)
		},
	}
}

// publicPart returns the part of the public server, which drains when it is stopped. An operator may drain it earlier;
// recitald then continues without it until it is stopped.
func (a *App) publicPart(server *web.Server, ln net.Listener) lifecycle.Part {
	a.drain.server = server
	return lifecycle.Part{
		Run: func(ctx context.Context) error {
			err := server.Serve(ln)
			if a.drain.Leaving() {
				<-ctx.Done()
			}
			return err
		},
		Stop: func() error {
			a.drain.Leave()
			return a.drain.ended()
		},
	}
}

// listen serves the routes of config and their description.
func (a *App) listen(
	address string, info openapi.Info, config web.Config, as func(*web.Server, net.Listener) lifecycle.Part,
) (net.Addr, error) {
	described, err := docs.Routes(info, config.Routes)
	if err != nil {
		return nil, err
	}
	config.Routes = append(config.Routes, described...)
	config.Logger, config.Traces = a.log, a.traces
	config.Observe = a.metrics.observeRequest(config.Name)
	server, err := web.NewServer(config)
	if err != nil {
		return nil, err
	}
	a.metrics.scrape(func() []prometheus.Metric { return serverMetrics(config.Name, server.Stats()) })
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening for the %s server: %w", config.Name, err)
	}
	part := as(server, ln)
	part.Name = "the " + config.Name + " server"
	a.running.Add(part)
	return ln.Addr(), nil
}

// PublicAddr returns the address of the public server.
func (a *App) PublicAddr() string { return a.public.String() }

// AdminAddr returns the address of the admin server.
func (a *App) AdminAddr() string { return a.admin.String() }

// shutdownTimeout is the time for replies in progress to finish once the listener is closed.
const shutdownTimeout = 25 * time.Second

// drain takes the public server out of service. The instance is not ready from then on, serves requests until balancers
// have noticed, then closes the listener and finishes the replies in progress.
type drain struct {
	delay   time.Duration
	server  *web.Server // set before it serves
	leaving atomic.Bool
	ended   func() error // returns its result; called once it has begun
}

func newDrain(delay time.Duration) *drain {
	d := &drain{delay: delay}
	d.ended = sync.OnceValue(d.run)
	return d
}

// Leaving reports whether the drain has begun.
func (d *drain) Leaving() bool { return d.leaving.Load() }

// Leave begins the drain and does not wait for its end.
func (d *drain) Leave() {
	d.leaving.Store(true)
	d.server.Leave()
	go func() { _ = d.ended() }() // the part of the server returns the error
}

func (d *drain) run() error {
	time.Sleep(d.delay)
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	return d.server.Shutdown(ctx)
}

// ownFiles is a generous estimate of the files that recitald has open besides the connections of clients.
const ownFiles = 1024

// leastFiles is the limit with which recitald, its Postgres and its workers start and serve a few clients.
const leastFiles = 256

// requireFiles returns an error if the limit of open files is too low. Otherwise a part would fail later, with a less
// clear error.
func requireFiles(connections int) error {
	if limit, err := openFiles(); err == nil && limit < leastFiles {
		return fmt.Errorf("the limit of open files is %d: at least %d are needed, and %d for RECITAL_CONNECTIONS=%d; "+
			"raise it (ulimit -n, LimitNOFILE)", limit, leastFiles, connections+ownFiles, connections)
	}
	return nil
}

// openFiles returns the limit of open files.
func openFiles() (limit uint64, err error) {
	var files syscall.Rlimit
	err = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files)
	return files.Cur, err
}

// warnOfFiles logs if the limit of connections exceeds the limit of open files. Go has already raised the soft limit to
// the hard one. Connections without a file wait, and idle ones are closed.
func warnOfFiles(log *slog.Logger, connections int) {
	limit, err := openFiles()
	if needed := uint64(connections + ownFiles); err == nil && limit < needed {
		log.Warn("the limit of open files is too low for RECITAL_CONNECTIONS: "+
			"raise it (ulimit -n, LimitNOFILE), or set fewer connections",
			"limit", limit, "needed", needed)
	}
}

func (a *App) lookAtFiles(context.Context) health.Finding {
	limit, err := openFiles()
	if err != nil {
		return health.Broken(err.Error(), "see why the limit of open files cannot be read")
	}
	f := health.Sound("%d for %d connections", limit, a.cfg.Connections)
	if needed := a.cfg.Connections + ownFiles; limit < uint64(needed) {
		return f.But(health.Warning, fmt.Sprintf(
			"raise the limit to %d (LimitNOFILE, ulimit -n), or lower RECITAL_CONNECTIONS", needed))
	}
	return f
}

// positions waits for the positions in x-recital-min-position of requests.
type positions struct {
	log       eventlog.Log
	projector interface {
		Reached(models ...readmodel.Model) eventlog.Position
		Wait(ctx context.Context, position eventlog.Position, models ...readmodel.Model) error
	}
}

// Wait implements web.Positions. It reads the head of the log only if the read models have not reached the position.
func (p positions) Wait(ctx context.Context, text string, models []readmodel.Model) error {
	position, err := eventlog.ParsePosition(text)
	if err != nil {
		return web.ErrBadPosition
	}
	if position.Compare(p.projector.Reached(models...)) <= 0 {
		return nil
	}
	head, err := p.log.Head(ctx)
	if err != nil {
		return fmt.Errorf("reading the head of the log: %w", err)
	}
	if position.Compare(head) > 0 {
		return web.ErrBadPosition
	}
	return p.wait(ctx, position, models)
}

// Current implements web.Positions.
func (p positions) Current(ctx context.Context, models []readmodel.Model) error {
	head, err := p.log.Head(ctx)
	if err != nil {
		return fmt.Errorf("reading the head of the log: %w", err)
	}
	return p.wait(ctx, head, models)
}

func (p positions) wait(ctx context.Context, position eventlog.Position, models []readmodel.Model) error {
	err := p.projector.Wait(ctx, position, models...)
	if errors.Is(err, feed.ErrStopped) {
		return errors.Join(web.ErrStandsStill, err)
	}
	return err
}

// watchCredentials begins to follow the log for revoked credentials, before requests are served.
func (a *App) watchCredentials(context.Context) error {
	a.changes.Begin(a.began)
	watcher := credentials.New(credentials.Config{
		Log: a.journal.Log, After: a.began, Registry: a.journal.Registry, Accounts: a.accounts, Sessions: a.sessions,
		Logger: a.log, Unconfirmed: a.skips.Unconfirmed, Observe: a.changes.Note,
		Outage: a.cfg.OutageReads, Idle: a.cfg.sessions().Idle,
	})
	a.credentials = watcher
	a.skips.OnChange(watcher.Recheck)
	a.metrics.scrape(func() []prometheus.Metric { return credentialMetrics(watcher.Stats()) })
	a.running.Add(lifecycle.Background("the watch for revocations", watcher.Run))
	return nil
}

// access authenticates requests by their API keys.
type access struct {
	find func(ctx context.Context, hash string) (credentials.Verified, error)
	now  func() time.Time // of plans
}

// APIKey implements web.Authenticator. A malformed key is refused without a look-up.
func (a access) APIKey(ctx context.Context, key string) (web.Principal, error) {
	if !account.WellFormedAPIKey(key) {
		return web.Principal{}, credentials.ErrUnknownKey
	}
	found, err := a.find(ctx, account.HashAPIKey(key))
	if err != nil {
		return web.Principal{}, err
	}
	return web.Principal{
		Account: found.Account, Key: found.Name, Plan: planAt(a.now(), found), Operator: found.Operator,
	}, nil
}

// planAt returns the plan at a time. A cancelled plan ends at its time, even if its end is not recorded yet.
func planAt(now time.Time, found credentials.Verified) string {
	return string(found.Entitlement.At(now).Plan)
}

// revocations end streams and sockets when their credential is revoked.
type revocations struct{ credentials *credentials.Watcher }

// Watch implements web.Revocations.
func (r revocations) Watch(principal web.Principal, revoked func()) (stop func()) {
	shown := credentials.Credential{Account: principal.Account, Kind: credentials.APIKey, Name: principal.Key}
	if principal.Session != "" {
		shown.Kind, shown.Name = credentials.Session, principal.Session
	}
	return r.credentials.Watch(shown, principal.SessionOpened, revoked)
}

// browsers authenticates requests by their session cookies.
type browsers struct {
	credentials *credentials.Watcher
	sessions    *sessions.Sessions
	now         func() time.Time // of plans
	log         *slog.Logger
}

// useTimeout is the time limit for recording the use of a request's session. If that fails, a later request records it.
const useTimeout = time.Second

// Session implements web.Sessions. A malformed cookie is refused without a look-up.
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
	if replayed, is := errors.AsType[*credentials.ReplayedError](err); is {
		b.endReplayed(ctx, replayed)
	}
	if err != nil {
		return web.Session{}, err
	}
	live := web.Session{Expires: found.Session.ExpiresAt, CrossSite: found.Session.CrossSite, Principal: web.Principal{
		Account: found.Account, Session: found.Name, Plan: planAt(b.now(), found), Operator: found.Operator,
		SessionOpened: found.Session.OpenedAt,
	}}
	if next := b.use(ctx, found, shown, use); next != shown {
		live.Renewed = next.Value()
	}
	return live, nil
}

// endReplayed ends a session with a cookie used by two clients. If that fails, it is retried at the next use of the
// cookie.
func (b browsers) endReplayed(ctx context.Context, replayed *credentials.ReplayedError) {
	ctx, cancel := context.WithTimeout(ctx, useTimeout)
	defer cancel()
	err := b.sessions.EndReplayed(ctx, replayed.Account, replayed.Session)
	b.log.WarnContext(ctx, "a secret of a session was shown that had been replaced; the session ends",
		"session", replayed.Session, "error", err)
}

// use records the use of a session, and returns the cookie that the browser should use from now on.
func (b browsers) use(
	ctx context.Context, found credentials.Verified, shown session.Cookie, use web.SessionUse,
) session.Cookie {
	if !b.sessions.Due(found.Session, shown, use.KeepsOld) {
		return shown
	}
	ctx, cancel := context.WithTimeout(ctx, useTimeout)
	defer cancel()
	origin := journal.Origin{Actor: eventlog.Actor{
		Kind: eventlog.ActorAccount, Account: found.Account, Session: found.Name,
	}}
	next, err := b.sessions.Use(ctx, shown, use.KeepsOld, origin)
	if err != nil {
		b.log.DebugContext(ctx, "the use of a session was not noted", "session", found.Name, "error", err)
		return shown
	}
	return next
}

func credentialMetrics(s credentials.Stats) []prometheus.Metric {
	return []prometheus.Metric{
		total("recital_api_key_cache_hits_total", "API keys and sessions that were found in the cache.", s.Hits),
		total("recital_api_key_cache_misses_total", "API keys and sessions that were looked up in the log.", s.Misses),
		gauge("recital_api_key_cache_keys", "API keys and sessions in the cache.", s.Cached),
		gauge("recital_revocation_watches", "Open WebSockets and streams that a revocation would end.", s.Watches),
		gauge("recital_revocation_live",
			"1 while the log is followed; otherwise each API key and session is looked up in the log.", oneIf(s.Live)),
	}
}
