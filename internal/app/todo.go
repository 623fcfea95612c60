package app

import (
	"context"
	"fmt"

	"github.com/recital-tts/recital/commands"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/feed"
	"github.com/recital-tts/recital/internal/todo"
	"github.com/recital-tts/recital/internal/todo/duelist"
)

// toDo is a process with the projection and its view that list what is due.
type toDo struct {
	name       string
	projection string
	view       string
	do         func(ctx context.Context, item todo.Item) (eventlog.Position, error)
}

func (a *App) toDos() []toDo {
	return []toDo{
		{commands.ExpiryProcess, "usage", "read_v2.todo_expiry", func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
			return a.ledger.Expire(ctx, item.Stream)
		}},
		{commands.CreditProcess, "usage", "read_v2.todo_credit", func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
			return a.ledger.CarryCredit(ctx, item.Stream, item.Cause)
		}},
	}
}

// startToDos starts the workers of all processes.
func (a *App) startToDos(context.Context) error {
	turns := duelist.NewTurns(a.pool)
	a.onClose("the turns of the to-do workers", turns.Close)
	metrics := todo.NewMetrics()
	a.metrics.registry.MustRegister(metrics)
	for _, t := range a.toDos() {
		if err := a.startToDo(t, turns, metrics); err != nil {
			return err
		}
	}
	return nil
}

func (a *App) startToDo(t toDo, turns *duelist.Turns, metrics *todo.Metrics) error {
	list, err := duelist.NewView(a.pool, t.view)
	if err != nil {
		return err
	}
	worker, err := todo.NewWorker(todo.Config{
		Process: todo.Process{Name: t.name, List: list, Do: t.do},
		Ready:   a.projector.CaughtUp(), // a recitald that was killed may have left events that no row tells of yet
		Shown: func(ctx context.Context, position eventlog.Position) error {
			return a.projector.Wait(ctx, position, t.projection)
		},
		GiveUp:  commands.NewAlerts(a.journal).GaveUp,
		Turn:    func(ctx context.Context) (bool, error) { return turns.Mine(ctx, t.name) },
		Bell:    &a.moved,
		Metrics: metrics,
		Logger:  a.log,
	})
	if err != nil {
		return err
	}
	a.background(fmt.Sprintf("the to-do worker of %s", t.name), worker.Run)
	return nil
}

// pageCommitted tells whoever wants to know that the read models have moved.
func (a *App) pageCommitted(page feed.PageStats) {
	a.metrics.observePage(page)
	a.moved.Ring()
}
