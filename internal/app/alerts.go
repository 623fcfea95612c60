package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	commands "github.com/recital-tts/recital/commands/alerts"
	"github.com/recital-tts/recital/commands/billing"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/process/health"
	"github.com/recital-tts/recital/internal/process/lifecycle"
	projections "github.com/recital-tts/recital/projections/alerts"
	readapi "github.com/recital-tts/recital/readapi/alerts"
	writeapi "github.com/recital-tts/recital/writeapi/alerts"
)

// projectionSource precedes the name of a projection in the source of an alert.
const projectionSource = "projection/"

// alertsSlice returns the slice of alerts. Projections raise alerts, so its commands are opened before the slices.
func alertsSlice(core *coreParts, status *statusParts, shared *sharedParts) slice {
	return slice{
		name:       "alerts",
		events:     commands.Events(),
		readModels: projections.ReadModels(),
		open: func() (service, error) {
			status.openAlert = &readapi.API{Models: core.projector, Found: shared.alerts.Open}
			write := writeapi.API{
				Alerts: shared.alerts, Recorded: status.openAlert.Recorded, ReadModels: core.projector, Now: time.Now,
			}
			return service{
				public:     status.openAlert.Routes(),
				admin:      append(status.openAlert.AdminRoutes(), write.AdminRoutes()...),
				collectors: []prometheus.Collector{openAlerts(status.openAlert.Known)},
			}, nil
		},
	}
}

func (a *App) openAlerts(context.Context) error {
	a.alerts = commands.New(a.journal, a.log, a.metrics.observeAlert)
	a.alerts.Own = func(c alert.Condition) bool {
		return c.Subject == a.instance() || strings.HasPrefix(c.Subject, a.instance()+",")
	}
	a.health = health.NewBoard(a.alerts, a.cfg.alertEvery())
	a.running.Add(lifecycle.Background("the alerts that wait for the log", a.alerts.Run))
	a.metrics.expectAlert(alert.EventSource, alert.Stopped)
	a.metrics.expectAlert(alert.EventSource, alert.Outdated)
	return nil
}

// reviewAlerts passes on the conditions that are open in the log, and clears occasions that are over.
func (a *App) reviewAlerts(ctx context.Context) error {
	open, err := a.openAlert.Recorded(ctx)
	if err != nil {
		return nil // Postgres is unavailable, which is an alert itself
	}
	a.alerts.Adopt(open)
	var failed []error
	for _, o := range open {
		over, err := a.isOver(ctx, o)
		if over {
			_, err = a.alerts.Clear(ctx, o, time.Now(), journal.System())
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// isOver reports whether an occasion is known to be over. Operators clear the others.
func (a *App) isOver(ctx context.Context, o alert.Open) (bool, error) {
	switch {
	case o.Lasting, o.Reason == alert.TakenOver:
		return false, nil
	case o.Reason == alert.GaveUp:
		return a.isDone(ctx, strings.TrimPrefix(o.Source, alert.ToDoSource("")), o.Subject)
	case o.Reason == alert.Uncollected:
		return a.isSettled(ctx, o.Subject)
	case o.Reason == alert.Doubled:
		return a.isSingle(ctx, o.Subject)
	case o.Source == alert.EventSource:
		return a.isPassed(ctx, o.Subject)
	case strings.HasPrefix(o.Source, projectionSource):
		return a.isFedAgain(ctx, o)
	}
	return false, nil
}

// isDone reports whether an item is no longer on the to-do list of a process.
func (a *App) isDone(ctx context.Context, process, item string) (bool, error) {
	for _, t := range slices.Concat(a.service.toDos, a.service.byPlan, a.service.slow, a.service.bursts) {
		if t.process != process {
			continue
		}
		listed, err := a.hasRow(ctx, t.view.View, "item = $1", item)
		return err == nil && !listed, err
	}
	return false, nil // the process belongs to another release
}

// isSettled reports whether an invoice was paid, or is no longer collected.
func (a *App) isSettled(ctx context.Context, invoice string) (bool, error) {
	view := readmodel.InvoicesView
	return a.hasRow(ctx, view.View, "invoice_id = $1 and status <> 'open'", invoice)
}

// isSingle reports whether one of two subscriptions has ended. A subscription that the view does not show yet has not.
func (a *App) isSingle(ctx context.Context, subject string) (bool, error) {
	older, newer, _ := strings.Cut(subject, billing.Beside)
	view := readmodel.SubscriptionsView
	return a.hasRow(ctx, view.View, "subscription_id in ($1, $2) and ended_at is not null", older, newer)
}

// hasRow reports whether a view has a row that satisfies a condition.
func (a *App) hasRow(ctx context.Context, view readmodel.View, condition string, args ...any) (bool, error) {
	found := false
	_, err := a.projector.Read(ctx, []readmodel.Model{view.Model},
		"select 1 from "+view.SQL()+" where "+condition+" limit 1", args,
		func(pgx.CollectableRow) error { found = true; return nil })
	if err != nil {
		return false, fmt.Errorf("looking whether an alert is over: %w", err)
	}
	return found, nil
}

// isPassed reports whether no generation has parked the event of an alert and all live ones are past it. A generation
// that is retrying the event may not have stopped yet.
func (a *App) isPassed(ctx context.Context, subject string) (bool, error) {
	id, at, _ := strings.Cut(subject, " at ")
	event, err := uuid.Parse(id)
	if err != nil {
		return false, err
	}
	if _, err := a.projector.FindParked(ctx, event); !errors.Is(err, feed.ErrNotParked) {
		return false, feed.Answered(err)
	}
	overview, err := a.projector.Overview(ctx)
	if err != nil {
		return false, fmt.Errorf("looking at the read models that had stopped: %w", feed.Answered(err))
	}
	return !slices.ContainsFunc(overview.Generations, func(g feed.Generation) bool {
		return g.Live && g.State != feed.GenerationUnfed && !isPast(g.Position, at)
	}), nil
}

// isFedAgain reports whether the generation of an alert is gone, or continues with no event parked.
func (a *App) isFedAgain(ctx context.Context, o alert.Open) (bool, error) {
	overview, err := a.projector.Overview(ctx) // not cached: an overview from before the alert has no meaning
	if err != nil {
		return false, fmt.Errorf("looking at a read model that had stopped: %w", feed.Answered(err))
	}
	name, at, _ := strings.Cut(o.Subject, " at ")
	for _, g := range overview.Generations {
		if feed.GenerationName(g.Name, g.Version, g.Number) == name {
			isFed := g.State != feed.GenerationStopped && g.State != feed.GenerationUnfed
			return isFed && g.Parked == 0 && isPast(g.Position, at), nil
		}
	}
	return true, nil
}

// isPast reports whether a position is at or after an event's, or there is no event.
func isPast(position eventlog.Position, event string) bool {
	at, err := eventlog.ParsePosition(event)
	return err != nil || position.Compare(at) >= 0
}

// projectionAlert raises the alert of a projection without waiting for the log. An event that stops several projections
// raises one alert.
func (a *App) projectionAlert(f feed.Alert) {
	o := commands.Occasion{
		Source: projectionSource + f.Generation.Name, Subject: f.Subject(), Reason: f.Reason, Cause: f.Event,
		Detail: f.Detail, At: time.Now(),
	}
	if f.Event != uuid.Nil {
		o.Source, o.Subject = alert.EventSource, f.Event.String()+" at "+f.Position.String()
		if !a.firstStop(f.Event) {
			return
		}
	}
	a.alerts.RaiseLater(o)
}

// againAfter is the time after which an event that still stops projections is logged again.
const againAfter = time.Minute

// firstStop reports whether an event is the first to stop a projection within againAfter.
func (a *App) firstStop(event uuid.UUID) bool {
	a.stopping.Lock()
	defer a.stopping.Unlock()
	if event == a.stoppedBy && time.Since(a.stoppedAt) < againAfter {
		return false
	}
	a.stoppedBy, a.stoppedAt = event, time.Now()
	return true
}

// openAlerts returns the metric of open alerts.
func openAlerts(open func() []alert.Open) prometheus.Collector {
	type kind struct {
		source string
		reason alert.Reason
	}
	return scraped(func() (all []prometheus.Metric) {
		counts := map[kind]int{
			{alert.LogSource, alert.NoAppends}:        0,
			{alert.LogSource, alert.Unreachable}:      0,
			{alert.PostgresSource, alert.Unreachable}: 0,
		}
		for _, o := range open() {
			counts[kind{o.Source, o.Reason}]++
		}
		for k, n := range counts {
			all = append(all, gauge("recital_alert_open",
				"Alerts that are open, as this instance knows. Those of the log are the same on every instance.",
				n, "source", k.source, "reason", string(k.reason)))
		}
		return all
	})
}
