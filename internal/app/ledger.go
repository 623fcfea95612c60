package app

import (
	"context"
	"fmt"
	"time"

	commands "github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/events/todo/pglist"
	"github.com/recital-tts/recital/internal/process/health"
	projections "github.com/recital-tts/recital/projections/ledger"
	readapi "github.com/recital-tts/recital/readapi/ledger"
	writeapi "github.com/recital-tts/recital/writeapi/ledger"
)

const (
	looksAtReservations = 12   // in the life of one
	watchedReservations = 1000 // at one look
	// lateExpiry is the permitted delay of an expiry.
	lateExpiry = time.Minute
)

// ledgerSlice returns the slice of used characters: reservations and their expiry, settlements, credit.
func ledgerSlice(core *coreParts, stores *storeParts, shared *sharedParts) slice {
	return slice{
		name:       "ledger",
		events:     commands.Events(),
		readModels: projections.ReadModels(),
		open: func() (service, error) {
			ledger := commands.New(core.journal, shared.accounts, core.time.now, core.cfg.longestReservation())
			ledger.NameBy(core.generations().Draw) // a reservation's id is also the client's id of the synthesis
			shared.ledger = ledger
			reservations := pglist.NewView(stores.pool, readmodel.ToDoExpiryView)
			watch := func(ctx context.Context) error { return watchReservations(ctx, reservations, ledger, core.time.now()) }
			write := writeapi.API{Ledger: ledger, ReadModels: core.projector}
			read := readapi.API{Models: core.projector, Now: core.time.now}
			expire := func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
				return ledger.Expire(ctx, item.Stream, item.ID)
			}
			return service{
				public: append(read.Routes(), write.Routes()...),
				admin:  write.AdminRoutes(),
				byPlan: []toDo{
					{commands.ExpiryProcess, readmodel.ToDoExpiryView, expire},
					{commands.CreditProcess, readmodel.ToDoCreditView, byStream(ledger.CarryCredit)},
					{commands.FollowProcess, readmodel.ToDoFollowEntitlementView, byID(ledger.FollowEntitlement)},
					{commands.FollowCapProcess, readmodel.ToDoFollowSpendingCapView, byID(ledger.FollowEntitlement)},
					{commands.CloseProcess, readmodel.ToDoClosePeriodView, byStream(ledger.ClosePeriod)},
				},
				jobs: []job{{
					name: "the watch over open reservations", current: true, run: watch,
					every: core.cfg.longestReservation() / looksAtReservations,
				}},
				close:  func() error { ledger.Close(); return nil },
				checks: []health.Check{reservationsCheck(reservations, core.cfg.longestReservation())},
			}, nil
		},
	}
}

// reservationsCheck returns the check for reservations that should have expired. An instance that has just started
// treats each as new, so they are late only after twice their lifetime.
func reservationsCheck(list *pglist.View, longest time.Duration) health.Check {
	condition := alert.Condition{Source: alert.LedgerSource, Subject: "reservations", Reason: alert.Unsettled}
	look := func(ctx context.Context) health.Finding {
		ctx, cancel := context.WithTimeout(ctx, answerTimeout)
		defer cancel()
		late, err := list.Backlog(ctx, time.Now().Add(-longest-lateExpiry))
		f := health.Sound("%d are open past their expiry", late.Items)
		switch {
		case err != nil:
			return health.Broken(err.Error(), "see to Postgres first").ButUnknown()
		case late.Items > 0:
			return f.But(health.Fault, "recitald's log says why their to-do worker does not end them").
				Raising(condition, time.Time{})
		}
		return f
	}
	return health.Check{Name: "reservations end in time", Raises: condition.Is, Look: look}
}

// watchReservations passes the reservations of other instances to the ledger; their expiry counts from then. It reads
// those that are due first, because most of the others are settled soon.
func watchReservations(ctx context.Context, list *pglist.View, ledger *commands.Ledger, now time.Time) error {
	open, _, err := list.Due(ctx, now.AddDate(1, 0, 0), nil, watchedReservations)
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
