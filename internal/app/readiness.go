package app

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/process/lifecycle"
	"github.com/recital-tts/recital/internal/process/postgres"
)

const (
	probeEvery   = 500 * time.Millisecond
	probeTimeout = time.Second
	// failingAppends is how long appends may fail.
	failingAppends = time.Second
)

// readiness is what the probes and the appends have found. Asking for it costs nothing, however often balancers do.
type readiness struct {
	mu       sync.Mutex
	postgres time.Time // answered last
	failing  time.Time // since when no append succeeds; zero while appends do

	noRoom atomic.Bool // the embedded node's disk is too full for any append
	behind atomic.Bool // reads show less than they have shown, or nothing
}

func (r *readiness) postgresAnswered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.postgres = time.Now()
}

func (r *readiness) postgresAnswers() bool {
	_, silent := r.postgresIsSilent()
	return !silent
}

// postgresIsSilent returns since when Postgres has not answered; zero if it never has.
func (r *readiness) postgresIsSilent() (since time.Time, is bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.postgres, time.Since(r.postgres) >= probeEvery+probeTimeout
}

// appended notes the outcome of an append. A conflict says nothing about the next append, and neither does a caller
// that has gone.
func (r *readiness) appended(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.failing = time.Time{}
	case errors.Is(err, eventlog.ErrUnavailable) && !errors.Is(err, context.Canceled) && r.failing.IsZero():
		r.failing = time.Now()
	}
}

// appendsFail returns since when appends have failed, and whether that is long enough to count.
func (r *readiness) appendsFail() (since time.Time, fail bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failing, !r.failing.IsZero() && time.Since(r.failing) > failingAppends
}

// promptReads are the read models of who would rather not wait than wait for a Postgres that is away.
type promptReads struct {
	synthesis.ReadModels
	readiness *readiness
}

// Wait is that of the projector. It also returns feed.ErrBehind, at once, while Postgres is away or lacks what was
// shown.
func (r promptReads) Wait(ctx context.Context, position eventlog.Position, models ...readmodel.Model) error {
	if !r.readiness.postgresAnswers() || r.readiness.behind.Load() {
		return feed.ErrBehind
	}
	return r.ReadModels.Wait(ctx, position, models...)
}

// startChecks begins to find out what readiness, alerts and the doctor show.
func (a *App) startChecks(context.Context) error {
	a.metrics.expectAlert(alert.LogSource, alert.NoAppends)
	a.running.Add(
		lifecycle.Job{Name: "the probe of Postgres", Every: probeEvery, Do: a.probePostgres, Logger: a.log}.Part(),
		lifecycle.Job{Name: "the probe of the read models", Every: probeEvery, After: a.projector.CaughtUp(), Do: a.probeReads, Logger: a.log}.Part(),
		lifecycle.Background("the health checks", a.health.Run),
		lifecycle.Job{
			Name: "the look at open alerts", Every: a.cfg.alertEvery(), After: a.projector.CaughtUp(), Do: a.reviewAlerts, Logger: a.log,
		}.Part(),
	)
	return nil
}

func (a *App) probePostgres(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if a.pool.Ping(ctx) == nil {
		a.readiness.postgresAnswered()
	}
	return nil
}

// probeReads looks whether the database has what reads need. While Postgres is away that is as it was.
func (a *App) probeReads(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	switch err := a.projector.Shows(ctx); {
	case err == nil:
		a.readiness.behind.Store(false)
	case errors.Is(err, feed.ErrBehind), postgres.IsMissing(err):
		a.readiness.behind.Store(true)
	}
	return nil
}
