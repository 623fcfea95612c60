package app

import (
	"context"
	"errors"
	"time"

	commands "github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/events/todo"
	projections "github.com/recital-tts/recital/projections/accounts"
	readapi "github.com/recital-tts/recital/readapi/accounts"
	writeapi "github.com/recital-tts/recital/writeapi/accounts"
)

// accountsSlice returns the slice of accounts and their API keys.
func accountsSlice(core *coreParts, shared *sharedParts) slice {
	return slice{
		name:       "accounts",
		events:     commands.Events(),
		readModels: projections.ReadModels(),
		open: func() (service, error) {
			shared.accounts = commands.New(core.journal, time.Now)
			shared.accounts.EntitleBy(core.time.now)
			shared.accounts.SealWith(core.keys)
			read := readapi.API{Models: core.projector, Keys: core.keys, Now: core.time.now}
			write := writeapi.API{Accounts: shared.accounts, ReadModels: core.projector}
			follow := func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
				return shared.accounts.FollowSubscription(ctx, item.Stream)
			}
			closing := commands.Closing{
				End: shared.end, Patience: erasedWithin, Erase: shared.erase, Longest: core.cfg.longestReservation(),
			}
			goOn := func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
				return shared.accounts.GoOn(ctx, item.ID, item.Cause, item.Due, closing)
			}
			return service{
				public: append(read.Routes(), write.Routes()...),
				admin:  append(write.AdminRoutes(), read.AdminRoutes()...),
				byPlan: []toDo{{commands.EntitleProcess, readmodel.ToDoEntitleView, follow}},
				toDos:  []toDo{{commands.CloseProcess, readmodel.ToDoCloseAccountView, goOn}},
			}, nil
		},
	}
}

// erasedWithin is the time that the erasure of a closed account waits for other systems, such as the payment provider.
const erasedWithin = 24 * time.Hour

// end ends ongoing work for a closed account. Parts that have to wait do not delay the others.
func (s *sharedParts) end(ctx context.Context, id string) error {
	var waits error
	for _, step := range s.ends {
		err := step(ctx, id)
		switch _, notYet := errors.AsType[*todo.NotYetError](err); {
		case notYet:
			waits = err
		case err != nil:
			return err
		}
	}
	return waits
}

// erase erases the data of a closed account, destroys its key, and then waits for erasing to-dos. They take long, so
// the key is destroyed before.
func (s *sharedParts) erase(ctx context.Context, id string) error {
	for _, step := range s.erases {
		if err := step(ctx, id); err != nil {
			return err
		}
	}
	return nil
}
