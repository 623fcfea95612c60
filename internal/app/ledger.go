package app

import (
	"context"
	"time"

	commands "github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/readmodel"
	"github.com/recital-tts/recital/internal/todo"
	projections "github.com/recital-tts/recital/projections/ledger"
	writeapi "github.com/recital-tts/recital/writeapi/ledger"
)

// ledgerSlice is that of the characters that accounts use: reservations and their expiry, settlements, credit.
func ledgerSlice() slice {
	return slice{
		name:       "ledger",
		events:     commands.Events(),
		readModels: projections.ReadModels(),
		open: func(p *parts) (service, error) {
			ledger, err := commands.New(p.journal, p.accounts, time.Now, p.cfg.longestReservation())
			if err != nil {
				return service{}, err
			}
			ledger.NameBy(p.generations().Draw) // clients know a reservation's id as that of their synthesis
			p.ledger = ledger
			write := writeapi.API{Ledger: ledger, ReadModels: p.projector}
			return service{
				admin: write.AdminRoutes(),
				toDos: []toDo{
					{commands.ExpiryProcess, readmodel.ToDoExpiryView, func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
						return ledger.Expire(ctx, item.Stream)
					}},
					{commands.CreditProcess, readmodel.ToDoCreditView, func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
						return ledger.CarryCredit(ctx, item.Stream, item.Cause)
					}},
				},
				close: func() error { ledger.Close(); return nil },
			}, nil
		},
	}
}
