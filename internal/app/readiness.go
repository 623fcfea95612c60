package app

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recital-tts/recital/commands/alerts"
	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventnode"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/process/lifecycle"
	"github.com/recital-tts/recital/internal/process/postgres"
)

const (
	probeEvery   = 500 * time.Millisecond
	probeTimeout = time.Second
	// storeSilence is how long the event store may be silent, failingAppends how long nothing may be appended.
	storeSilence   = 2 * time.Second
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

// appended notes the outcome of an append. A conflict says nothing about the next append, and neither does a caller that
// has gone.
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

// lacking names what requests lack, for everybody; nothing when they can be served. Without the second engine all but the
// blizzard models' English is served: recital_speech_engines_alive shows it, and no balancer takes the instance out for it.
func (a *App) lacking() (names []string) {
	lacks := func(name string, lacking bool) {
		if lacking {
			names = append(names, name)
		}
	}
	_, failing := a.readiness.appendsFail()
	lacks("event store", a.storeSilence() > storeSilence)
	lacks("appends to the event store", failing || a.readiness.noRoom.Load())
	lacks("the log's keyring", a.foreignKeyring.Load())
	lacks("Postgres", !a.readiness.postgresAnswers())
	select {
	case <-a.projector.CaughtUp():
		lacks("read models that have caught up", a.readiness.behind.Load())
	default:
		lacks("read models that have caught up", true)
	}
	for _, model := range a.projector.Status() {
		lacks("read model "+model.Name, model.State == feed.StateStopped)
	}
	lacks("speech engine", !a.engines.Healthy())
	lacks("codec", !a.codecs.Healthy())
	return names
}

// promptReads are the read models of who would rather not wait than wait for a Postgres that is away.
type promptReads struct {
	synthesis.ReadModels
	readiness *readiness
}

// Wait is that of the projector. It also returns feed.ErrBehind, at once, while Postgres is away or lacks what was shown.
func (r promptReads) Wait(ctx context.Context, position eventlog.Position, models ...readmodel.Model) error {
	if !r.readiness.postgresAnswers() || r.readiness.behind.Load() {
		return feed.ErrBehind
	}
	return r.ReadModels.Wait(ctx, position, models...)
}

// probe finds out what the traffic alone does not show.
func (a *App) probe(context.Context) error {
	a.metrics.expectAlert(alert.LogSource, alert.NoAppends)
	a.running.Add(
		lifecycle.Background("the probe of Postgres", repeatedly(a.probePostgres)),
		lifecycle.Background("the probe of the read models", repeatedly(a.probeReads)),
		lifecycle.Background("the probe of the event store", repeatedly(a.probeAppends)),
	)
	return nil
}

func repeatedly(probe func(context.Context)) func(context.Context) error {
	return func(ctx context.Context) error {
		ticker := time.NewTicker(probeEvery)
		defer ticker.Stop()
		for {
			probe(ctx)
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return nil
			}
		}
	}
}

func (a *App) probePostgres(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if a.pool.Ping(ctx) == nil {
		a.readiness.postgresAnswered()
	}
}

// probeReads looks whether the database has what reads need. While Postgres is away that is as it was. Until the read models
// have caught up nobody asks.
func (a *App) probeReads(ctx context.Context) {
	select {
	case <-a.projector.CaughtUp():
	default:
		return
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	switch err := a.projector.Shows(ctx); {
	case err == nil:
		a.readiness.behind.Store(false)
	case errors.Is(err, feed.ErrBehind), postgres.IsMissing(err):
		a.readiness.behind.Store(true)
	}
}

// probeAppends raises an alert while appends fail. That its events are tried until the log takes them is a probe, too: without it
// an instance that gets no requests because it is not ready would never find out that the log takes events again.
func (a *App) probeAppends(context.Context) {
	a.probeRoom()
	condition := a.here(alert.LogSource, alert.NoAppends)
	since, fail := a.readiness.appendsFail()
	if !fail && a.readiness.noRoom.Load() {
		since, fail = time.Now(), true
	}
	if fail {
		a.conditions.Holds(alerts.Found{Condition: condition, Since: since, Detail: "the event store takes no events"})
		return
	}
	a.conditions.Over(condition)
}

// probeRoom looks whether the embedded node's disk has room for any append.
func (a *App) probeRoom() {
	if a.nodeStats != nil {
		free := a.nodeStats().FreeBytes
		a.readiness.noRoom.Store(free > 0 && free < eventnode.SpaceReserve)
	}
}
