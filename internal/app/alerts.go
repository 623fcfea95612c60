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

// alertsSlice is that of what a person should look at. Its commands are a part that the projections rest on, so they
// are opened before the slices.
func alertsSlice(core *coreParts, status *statusParts, shared *sharedParts) slice {
	return slice{
		name:       "alerts",
		events:     commands.Events(),
		readModels: projections.ReadModels(),
		open: func() (service, error) {
			status.openAlert = &readapi.API{Models: core.projector, Found: shared.alerts.Open}
			write := writeapi.API{Alerts: shared.alerts, Recorded: status.openAlert.Recorded, ReadModels: core.projector, Now: time.Now}
			return service{
				public:     status.openAlert.Routes(),
				admin:      append(status.openAlert.AdminRoutes(), write.AdminRoutes()...),
				collectors: []prometheus.Collector{alertGauge{status.openAlert}},
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

// reviewAlerts makes known which conditions the log has as open, and clears what was raised once and is over.
func (a *App) reviewAlerts(ctx context.Context) error {
	open, err := a.openAlert.Recorded(ctx)
	if err != nil {
		return nil // Postgres is away, which is an alert itself
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

// isOver reports whether an alert that was raised once can be seen to be over. Of what cannot be seen an operator takes
// note.
func (a *App) isOver(ctx context.Context, o alert.Open) (bool, error) {
	switch {
	case o.Lasting, o.Reason == alert.TakenOver:
		return false, nil
	case o.Reason == alert.GaveUp:
		return a.isDone(ctx, strings.TrimPrefix(o.Source, commands.ToDoSource("")), o.Subject)
	case o.Source == alert.EventSource:
		return a.isPassed(ctx, o.Subject)
	case strings.HasPrefix(o.Source, projectionSource):
		return a.isFedAgain(ctx, o)
	}
	return false, nil
}

// isDone reports whether an item is not on the to-do list of a process any more.
func (a *App) isDone(ctx context.Context, process, item string) (bool, error) {
	for _, t := range append(a.service.toDos, a.service.slow...) {
		if t.process != process {
			continue
		}
		listed := false
		_, err := a.projector.Read(ctx, []readmodel.Model{t.view.Model}, "select item from "+t.view.SQL()+" where item = $1", []any{item},
			func(pgx.CollectableRow) error { listed = true; return nil })
		if err != nil {
			return false, fmt.Errorf("looking for an item that was given up: %w", err)
		}
		return !listed, nil
	}
	return false, nil // of a process of another release
}

// isPassed reports whether no generation leaves the event of an alert out, and the live ones are past it: one that
// tries the event again has not stopped before it yet.
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

// isFedAgain reports whether the generation of an alert is there no more, or goes on and leaves no event out.
func (a *App) isFedAgain(ctx context.Context, o alert.Open) (bool, error) {
	overview, err := a.projector.Overview(ctx) // what was known before the alert says nothing
	if err != nil {
		return false, fmt.Errorf("looking at a read model that had stopped: %w", feed.Answered(err))
	}
	name, at, _ := strings.Cut(o.Subject, " at ")
	for _, g := range overview.Generations {
		if feed.GenerationName(g.Name, g.Version, g.Number) == name {
			return g.Parked == 0 && g.State != feed.GenerationStopped && g.State != feed.GenerationUnfed && isPast(g.Position, at), nil
		}
	}
	return true, nil
}

// isPast reports whether a position is not before the one of an event, if there is one: another instance that tries the
// event, too, has not stopped before it meanwhile.
func isPast(position eventlog.Position, event string) bool {
	at, err := eventlog.ParsePosition(event)
	return err != nil || position.Compare(at) >= 0
}

// projectionAlert raises the alert of a projection, which must not wait for the log. However many projections an event
// stops, it raises one.
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

// againAfter is after how long an event that stops projections again is worth another line in the log.
const againAfter = time.Minute

// firstStop reports whether an event has not stopped another projection a moment ago.
func (a *App) firstStop(event uuid.UUID) bool {
	a.stopping.Lock()
	defer a.stopping.Unlock()
	if event == a.stoppedBy && time.Since(a.stoppedAt) < againAfter {
		return false
	}
	a.stoppedBy, a.stoppedAt = event, time.Now()
	return true
}

// alertGauge counts the alerts that are open.
type alertGauge struct{ open *readapi.API }

func alertOpenDesc() *prometheus.Desc {
	return prometheus.NewDesc("recital_alert_open", "Alerts that are open, as this instance knows. Those of the log are the same on every instance.",
		[]string{"source", "reason"}, nil)
}

// Describe implements prometheus.Collector.
func (g alertGauge) Describe(descs chan<- *prometheus.Desc) { descs <- alertOpenDesc() }

// Collect implements prometheus.Collector.
func (g alertGauge) Collect(figures chan<- prometheus.Metric) {
	type kind struct {
		source string
		reason alert.Reason
	}
	counts := map[kind]int{{alert.LogSource, alert.NoAppends}: 0, {alert.LogSource, alert.Unreachable}: 0, {alert.PostgresSource, alert.Unreachable}: 0}
	for _, o := range g.open.Known() {
		counts[kind{o.Source, o.Reason}]++
	}
	for k, n := range counts {
		figures <- prometheus.MustNewConstMetric(alertOpenDesc(), prometheus.GaugeValue, float64(n), k.source, string(k.reason))
	}
}
