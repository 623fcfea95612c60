package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/events/todo/pglist"
	"github.com/recital-tts/recital/internal/process/health"
	"github.com/recital-tts/recital/internal/process/lifecycle"
)

// startProjections starts to feed the read models of all slices.
func (a *App) startProjections(context.Context) (err error) {
	a.projector, err = feed.NewProjector(feed.Config{
		Log: a.journal.Log, Registry: a.journal.Registry, Pool: a.pool, Identity: a.identity,
		Projections: ReadModels(),
		Instance:    a.instance(),
		Logger:      a.log,
		Alert:       a.projectionAlert,
		OnPage:      a.pageCommitted,
	})
	if err != nil {
		return err
	}
	a.skips.OnChange(a.projector.Attend)
	a.running.Add(lifecycle.Background("the projections", a.withDatabase(a.projector.Run)))
	return nil
}

// pageCommitted is called when the read models have advanced.
func (a *App) pageCommitted(page feed.PageStats) {
	a.metrics.observePage(page)
	a.moved.Notify(page.Changed...)
}

// instance returns the name of this instance. It derives from its host and data folder, so that it survives restarts.
func (c *coreParts) instance() string {
	host, _ := os.Hostname()
	return host + ":" + c.cfg.DataDir
}

// readModelsCheck returns the check for stopped read models, and for live ones of this release that are behind the log.
func (a *App) readModelsCheck() health.Check {
	return health.Check{
		Name: "the read models are up to date", Lacks: a.lacksReadModels,
		Rules: []string{"RecitalReadModelStopped", "RecitalReadModelBehind", "RecitalEventsParked"},
		Raises: func(c alert.Condition) bool {
			return c.Reason == alert.Behind && slices.ContainsFunc(ReadModels(), func(m feed.Projection) bool {
				return strings.HasPrefix(c.Subject, fmt.Sprintf("%s_v%d_", m.Name, m.Version))
			})
		},
		Look: func(context.Context) health.Finding {
			overview, known := a.metrics.projections.overview.get()
			if !known {
				// If this persists, the checks of Postgres and of the event store report the fault.
				return health.Sound("their checkpoints or the log's head could not be read at the last look").
					But(health.Warning, "look again; if it stays so, see to Postgres and the event store").ButUnknown()
			}
			return ofGenerations(overview.Generations, ReadModels(), a.cfg.lagLimit())
		},
	}
}

func (a *App) lacksReadModels() (names []string) {
	select {
	case <-a.projector.CaughtUp():
		names = lack("read models that have caught up", a.readiness.behind.Load)()
	default:
		names = []string{"read models that have caught up"}
	}
	for _, model := range a.projector.Status() {
		if model.State == feed.StateStopped {
			names = append(names, "read model "+model.Name)
		}
	}
	return names
}

// ofGenerations also finds generations that are not live, but for one of each read model, to roll back to. Each costs
// as much work and space as the live one.
func ofGenerations(generations []feed.Generation, own []feed.Projection, limit time.Duration) health.Finding {
	var stopped, behind, surplus []string
	spare := map[string]string{} // the newest generation that is not live, by read model
	f := health.Sound("%d generations", len(generations))
	for _, g := range generations {
		name := fmt.Sprintf("%s version %d generation %d", g.Name, g.Version, g.Number)
		isOwn := slices.ContainsFunc(own, func(m feed.Projection) bool { return m.Name == g.Name && m.Version == g.Version })
		if g.State == feed.GenerationStopped || g.Parked > 0 {
			stopped = append(stopped, name)
		} else if g.Live && g.Lag > limit {
			behind = append(behind, name+" by "+g.Lag.Round(time.Second).String())
		}
		if isOwn && !g.Live && g.State == feed.GenerationCurrent {
			if older := spare[g.Name]; older != "" { // the newest is the one to roll back to
				surplus = append(surplus, older)
			}
			spare[g.Name] = name
		}
		if g.Live && isOwn && g.Lag > limit {
			f.Problems = append(f.Problems, health.Problem{
				Condition: alert.Condition{
					Source: projectionSource + g.Name, Subject: feed.GenerationName(g.Name, g.Version, g.Number), Reason: alert.Behind,
				},
				Since: time.Now().Add(-g.Lag), Detail: fmt.Sprintf("it is %s behind", g.Lag.Round(time.Second)),
			})
		}
	}
	switch {
	case len(stopped) > 0:
		f.Found = "an event stops " + strings.Join(stopped, ", ")
		return f.But(health.Fault,
			"recitalctl projections list says why, recitalctl projections parked list which event it is")
	case len(behind) > 0:
		f.Found = "behind: " + strings.Join(behind, ", ")
		return f.But(health.Fault, "see to the load of Postgres; recitalctl projections list shows whether they catch up")
	case len(surplus) > 0:
		f.Found = "not live, and still fed: " + strings.Join(surplus, ", ")
		return f.But(health.Warning, "recitalctl projections retire drops those that nobody will roll back to")
	}
	return f
}

var generationStates = []feed.GenerationState{
	feed.GenerationBuilding, feed.GenerationCurrent, feed.GenerationStopped, feed.GenerationUnfed,
}

// projectionMetrics are metrics of each generation of a read model. Those from the database are the same on every
// instance, and absent while it does not answer.
type projectionMetrics struct {
	overview *recent[feed.Overview]

	counting sync.Mutex
	counted  map[feed.GenerationID]pageCount
}

// pageCount counts the events that this instance has read into a generation.
type pageCount struct {
	events, foreign int
	last            time.Time
}

func newProjectionMetrics(overview func(context.Context) (feed.Overview, error)) *projectionMetrics {
	m := &projectionMetrics{counted: map[feed.GenerationID]pageCount{}}
	m.overview = newRecent(func(ctx context.Context) (feed.Overview, error) {
		began := time.Now()
		seen, err := overview(ctx)
		if err == nil {
			m.forgetRetired(seen.Generations, began)
		}
		return seen, err
	})
	return m
}

func (m *projectionMetrics) observePage(p feed.PageStats) {
	m.counting.Lock()
	defer m.counting.Unlock()
	for _, id := range p.Generations {
		before := m.counted[id]
		m.counted[id] = pageCount{before.events + p.Events, before.foreign + p.Foreign, time.Now()}
	}
}

// read returns the current values.
func (m *projectionMetrics) read() (all []prometheus.Metric) {
	overview, _ := m.overview.get()
	for _, g := range overview.Generations {
		all = append(all, generationMetrics(g, overview.Head)...)
	}
	m.counting.Lock()
	defer m.counting.Unlock()
	for id, count := range m.counted {
		all = append(all, total("recital_projection_events_total", "Events that this instance has read into a generation.",
			count.events, labelsOf(id)...))
		if count.foreign > 0 {
			all = append(all, total("recital_projection_foreign_events_total",
				"Events of foreign streams that a generation has skipped in this instance.", count.foreign, labelsOf(id)...))
		}
	}
	return all
}

func generationMetrics(g feed.Generation, head eventlog.Position) []prometheus.Metric {
	labels := labelsOf(idOf(g))
	all := []prometheus.Metric{
		gauge("recital_projection_lag_seconds", "Age of the oldest event that a generation has not read.",
			g.Lag.Seconds(), labels...),
		gauge("recital_projection_lag_events",
			"Events that a generation has not read, estimated from the bytes of the log.", unread(g, head), labels...),
		gauge("recital_projection_parked", "Events of a generation that wait for an operator.", g.Parked, labels...),
	}
	for _, state := range generationStates {
		all = append(all, gauge("recital_projection_state", "1 for the state that a generation is in, 0 for the others.",
			oneIf(g.State == state), append(labels, "state", string(state))...))
	}
	return all
}

func labelsOf(id feed.GenerationID) []string {
	return []string{"projection", id.Name, "version", strconv.Itoa(id.Version), "generation", strconv.Itoa(id.Number)}
}

func idOf(g feed.Generation) feed.GenerationID {
	return feed.GenerationID{Name: g.Name, Version: g.Version, Number: g.Number}
}

// unread estimates the number of events that a generation has not read. Counting would require reading them.
func unread(g feed.Generation, head eventlog.Position) float64 {
	if g.Lag == 0 || head.Commit <= g.Position.Commit {
		return 0
	}
	if g.Events == 0 {
		return 1
	}
	bytesEach := float64(g.Position.Commit) / float64(g.Events)
	return math.Ceil(float64(head.Commit-g.Position.Commit) / bytesEach)
}

// forgetRetired drops the counters of generations that no longer exist, so that their number is bounded. One that was
// fed after began may be newer than the list.
func (m *projectionMetrics) forgetRetired(generations []feed.Generation, began time.Time) {
	there := map[feed.GenerationID]bool{}
	for _, g := range generations {
		there[idOf(g)] = true
	}
	m.counting.Lock()
	defer m.counting.Unlock()
	maps.DeleteFunc(m.counted, func(id feed.GenerationID, count pageCount) bool {
		return !there[id] && count.last.Before(began)
	})
}

// startToDos starts the workers of all processes.
func (a *App) startToDos(context.Context) error {
	metrics := todo.NewMetrics()
	var lists []watchedList
	start := func(all []toDo, now func() time.Time, limits todo.Limits) error {
		for _, t := range all {
			list := pglist.NewView(a.pool, t.view)
			if err := a.startToDo(t, list, now, limits, metrics); err != nil {
				return err
			}
			lists = append(lists, watchedList{t.process, list, now})
		}
		return nil
	}
	err := errors.Join(
		start(a.service.toDos, time.Now, todo.Limits{}),
		start(a.service.byPlan, a.time.due, todo.Limits{}),
		start(a.service.slow, time.Now, todo.Limits{Takeover: slowTakeover}),
		start(a.service.bursts, a.time.due, todo.Limits{Batch: 400, Concurrency: 24}),
	)
	if err != nil {
		return err
	}
	a.metrics.registry.MustRegister(metrics, backlogMetrics(lists, newBacklogs(lists)))
	return nil
}

// slowTakeover is the time after which instances that do not lead carry out a due item that takes minutes.
const slowTakeover = 20 * time.Minute

func (a *App) startToDo(
	t toDo, list todo.List, now func() time.Time, limits todo.Limits, metrics *todo.Metrics,
) error {
	worker, err := todo.NewWorker(todo.Config{
		Process: todo.Process{Name: t.process, List: list, Do: t.do},
		Limits:  limits,
		Now:     now,
		Ready:   a.projector.CaughtUp(), // a killed recitald may have left events that are not projected yet
		Shown: func(ctx context.Context, position eventlog.Position) error {
			return a.projector.Wait(ctx, position, t.view.Model)
		},
		GiveUp:   a.alerts.GaveUp,
		IsLeader: func(ctx context.Context) (bool, error) { return a.locks.TryAcquire(ctx, t.process) },
		Notifier: &a.moved,
		Model:    t.view.Model,
		Metrics:  metrics,
		Logger:   a.log,
	})
	if err != nil {
		return err
	}
	a.metrics.expectAlert(alert.ToDoSource(t.process), alert.GaveUp)
	a.running.Add(lifecycle.Background("the to-do worker of "+t.process, worker.Run))
	return nil
}

// watchedList is the to-do list of a process with its clock.
type watchedList struct {
	process string
	list    *pglist.View
	now     func() time.Time
}

// newBacklogs returns the backlogs of lists, in one query.
func newBacklogs(lists []watchedList) *recent[[]pglist.Backlog] {
	return newRecent(func(ctx context.Context) ([]pglist.Backlog, error) {
		views, by := make([]*pglist.View, len(lists)), make([]time.Time, len(lists))
		for i, l := range lists {
			views[i], by[i] = l.list, l.now()
		}
		return pglist.Backlogs(ctx, views, by)
	})
}

// backlogMetrics returns metrics of due items on each to-do list, the same on every instance. They are omitted if
// Postgres does not answer.
func backlogMetrics(lists []watchedList, backlogs *recent[[]pglist.Backlog]) prometheus.Collector {
	return scraped(func() (all []prometheus.Metric) {
		due, _ := backlogs.get()
		for i, backlog := range due {
			all = append(all,
				gauge("recital_todo_due_items", "Items that are due, those that were given up included.",
					backlog.Items, "process", lists[i].process),
				gauge("recital_todo_oldest_due_age_seconds", "How long the oldest due item has been due.",
					ageAt(lists[i].now(), backlog.Oldest), "process", lists[i].process))
		}
		return all
	})
}
