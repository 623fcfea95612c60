package app

import (
	"context"
	"time"

	commands "github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/events/todo"
	projections "github.com/recital-tts/recital/projections/accounts"
	readapi "github.com/recital-tts/recital/readapi/accounts"
	writeapi "github.com/recital-tts/recital/writeapi/accounts"
)

// accountsSlice is that of accounts and their API keys.
func accountsSlice(core *coreParts, shared *sharedParts) slice {
	return slice{
		name:       "accounts",
		events:     commands.Events(),
		readModels: projections.ReadModels(),
		open: func() (service, error) {
			shared.accounts = commands.New(core.journal, time.Now)
			shared.accounts.SealWith(core.keys)
			read := readapi.API{Models: core.projector, Keys: core.keys}
			write := writeapi.API{Accounts: shared.accounts, ReadModels: core.projector}
			return service{
				public: append(read.Routes(), write.Routes()...),
				admin:  append(write.AdminRoutes(), read.AdminRoutes()...),
				toDos: []toDo{
					{commands.EntitleProcess, readmodel.ToDoEntitleView, func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
						return shared.accounts.FollowSubscription(ctx, item.Stream)
					}},
					{commands.CloseProcess, readmodel.ToDoCloseAccountView, func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
						return shared.accounts.GoOn(ctx, item.ID, item.Cause, commands.Closing{Erase: shared.erase, Longest: core.cfg.longestReservation()})
					}},
				},
			}, nil
		},
	}
}

// erase ends and erases what belongs to a closed account, and destroys the account's key. What is left then takes long,
// and is erased by to-dos: it is awaited, but the key is not kept for it.
func (s *sharedParts) erase(ctx context.Context, id string) error {
	for _, step := range s.closings {
		if err := step(ctx, id); err != nil {
			return err
		}
	}
	return nil
}
