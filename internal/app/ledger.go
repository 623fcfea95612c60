package app

import (
	"context"
	"fmt"
	"time"

	"github.com/recital-tts/recital/commands/alerts"
	commands "github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/events/todo/pglist"
	projections "github.com/recital-tts/recital/projections/ledger"
	readapi "github.com/recital-tts/recital/readapi/ledger"
	writeapi "github.com/recital-tts/recital/writeapi/ledger"
)

// An instance looks at open reservations so many times in the life of one, and at so many of them at once.
const (
	looksAtReservations = 12
	watchedReservations = 1000
	// lateExpiry is how late an expiry may be.
	lateExpiry = time.Minute
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
			reservations, err := pglist.NewView(p.pool, readmodel.ToDoExpiryView)
			if err != nil {
				return service{}, err
			}
			watch := func(ctx context.Context) error { return watchReservations(ctx, reservations, ledger) }
			write := writeapi.API{Ledger: ledger, ReadModels: p.projector}
			read := readapi.API{Models: p.projector}
			return service{
				public: read.Routes(),
				admin:  write.AdminRoutes(),
				toDos: []toDo{
					{commands.ExpiryProcess, readmodel.ToDoExpiryView, func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
						return ledger.Expire(ctx, item.Stream, item.ID)
					}},
					{commands.CreditProcess, readmodel.ToDoCreditView, func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
						return ledger.CarryCredit(ctx, item.Stream, item.Cause)
					}},
					{commands.FollowProcess, readmodel.ToDoFollowEntitlementView, func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
						return ledger.FollowEntitlement(ctx, item.ID, item.Cause)
					}},
					{commands.CloseProcess, readmodel.ToDoClosePeriodView, func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
						closed, err := ledger.ClosePeriod(ctx, item.Stream, item.Cause)
						return closed.Position, err
					}},
				},
				jobs:    []job{{name: "the watch over open reservations", every: p.cfg.longestReservation() / looksAtReservations, current: true, run: watch}},
				close:   func() error { ledger.Close(); return nil },
				watches: []alerts.Watch{watchReservationsPast(reservations, p.cfg.longestReservation())},
			}, nil
		},
	}
}

// watchReservationsPast looks for reservations that should have expired. An instance that has just started lets each live as long
// as a new one, because it goes by its own clock, so they are late only after as long again.
func watchReservationsPast(list *pglist.View, longest time.Duration) alerts.Watch {
	condition := alert.Condition{Source: alert.LedgerSource, Subject: "reservations", Reason: alert.Unsettled}
	return alerts.Watch{
		Name: "the look at reservations past their expiry", Of: alerts.One(condition),
		Look: func(ctx context.Context) ([]alerts.Found, error) {
			ctx, cancel := context.WithTimeout(ctx, answerTimeout)
			defer cancel()
			late, err := list.Backlog(ctx, time.Now().Add(-longest-lateExpiry))
			if err != nil || late.Items == 0 {
				return nil, err
			}
			return []alerts.Found{{Condition: condition, Detail: fmt.Sprintf("%d are open", late.Items)}}, nil
		},
	}
}

// watchReservations has the ledger see the reservations that others have made, whose expiry counts from there. It looks at
// those that are due first: most of the others are settled before they are worth a look.
func watchReservations(ctx context.Context, list *pglist.View, ledger *commands.Ledger) error {
	open, err := list.Due(ctx, time.Now().AddDate(1, 0, 0), nil, watchedReservations)
	if err != nil {
		return fmt.Errorf("reading the open reservations: %w", err)
	}
	seen := map[string]bool{}
	for _, item := range open {
		if seen[item.Stream] {
			continue
		}
		seen[item.Stream] = true
		if err := ledger.Watch(ctx, item.Stream); err != nil {
			return err
		}
	}
	return nil
}
