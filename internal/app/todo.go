package app

import (
	"context"
	"time"

	"github.com/recital-tts/recital/commands/alerts"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/lifecycle"
	"github.com/recital-tts/recital/internal/todo"
	"github.com/recital-tts/recital/internal/todo/pglist"
)

// startToDos starts the workers of all processes.
func (a *App) startToDos(context.Context) error {
	metrics := todo.NewMetrics()
	a.metrics.registry.MustRegister(metrics)
	for _, t := range a.service.toDos {
		if err := a.startToDo(t, todo.Limits{}, metrics); err != nil {
			return err
		}
	}
	for _, t := range a.service.slow {
		if err := a.startToDo(t, todo.Limits{Takeover: slowTakeover}, metrics); err != nil {
			return err
		}
	}
	return nil
}

// slowTakeover is how long an item that takes minutes may be due before instances that do not lead carry it out, too.
const slowTakeover = 20 * time.Minute

func (a *App) startToDo(t toDo, limits todo.Limits, metrics *todo.Metrics) error {
	list, err := pglist.NewView(a.pool, t.view)
	if err != nil {
		return err
	}
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
