package app

import (
	"context"
	"time"

	"github.com/recital-tts/recital/commands/alerts"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/events/todo/pglist"
	"github.com/recital-tts/recital/internal/process/lifecycle"
)

// startToDos starts the workers of all processes.
func (a *App) startToDos(context.Context) error {
	metrics := todo.NewMetrics()
	var processes []string
	var lists []*pglist.View
	start := func(all []toDo, limits todo.Limits) error {
		for _, t := range all {
			list := pglist.NewView(a.pool, t.view)
			if err := a.startToDo(t, list, limits, metrics); err != nil {
				return err
			}
			processes, lists = append(processes, t.process), append(lists, list)
		}
		return nil
	}
	if err := start(a.service.toDos, todo.Limits{}); err != nil {
		return err
	}
	if err := start(a.service.slow, todo.Limits{Takeover: slowTakeover}); err != nil {
		return err
	}
	a.metrics.registry.MustRegister(metrics, newBacklogMetrics(processes, lists))
	return nil
}

// slowTakeover is how long an item that takes minutes may be due before instances that do not lead carry it out, too.
const slowTakeover = 20 * time.Minute

func (a *App) startToDo(t toDo, list todo.List, limits todo.Limits, metrics *todo.Metrics) error {
	worker, err := todo.NewWorker(todo.Config{
		Process: todo.Process{Name: t.process, List: list, Do: t.do},
		Limits:  limits,
		Ready:   a.projector.CaughtUp(), // a recitald that was killed may have left events that no row shows yet
		Shown: func(ctx context.Context, position eventlog.Position) error {
			return a.projector.Wait(ctx, position, t.view.Model)
		},
		GiveUp:   a.alerts.GaveUp,
		IsLeader: func(ctx context.Context) (bool, error) { return a.locks.TryAcquire(ctx, t.process) },
		Notifier: &a.moved,
		Metrics:  metrics,
		Logger:   a.log,
	})
	if err != nil {
		return err
	}
	a.metrics.expectAlert(alerts.ToDoSource(t.process), alert.GaveUp)
	a.running.Add(lifecycle.Background("the to-do worker of "+t.process, worker.Run))
	return nil
}
