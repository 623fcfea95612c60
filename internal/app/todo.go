package app

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// expiryInterval is how often reservations that are due are looked for, beside the start.
const expiryInterval = time.Minute

// dueLimit is how many periods with due reservations are worked off in one go.
const dueLimit = 500

const dueQuery = `select distinct stream from read_v1.open_reservations where expires_at <= now() limit $1`

// startToDos starts the worker that ends reservations which nobody settled. What is due is a projection; the outcome
// is an event; so a crash repeats and loses nothing.
func (a *App) startToDos(context.Context) error {
	a.background("the expiry of reservations", func(ctx context.Context) error {
		select {
		case <-a.projector.CaughtUp(): // a recitald that was killed may have left events that no row tells of yet
		case <-ctx.Done():
			return nil
		}
		tick := time.NewTicker(expiryInterval)
		defer tick.Stop()
		for {
			if err := a.expireDue(ctx); err != nil && ctx.Err() == nil {
				a.log.Warn("could not expire reservations; trying again later", "error", err)
			}
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
		}
	})
	return nil
}

func (a *App) expireDue(ctx context.Context) error {
	rows, err := a.pool.Query(ctx, dueQuery, dueLimit)
	if err != nil {
		return fmt.Errorf("looking for due reservations: %w", err)
	}
	streams, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("looking for due reservations: %w", err)
	}
	for _, stream := range streams {
		if err := a.ledger.Expire(ctx, stream); err != nil {
			return fmt.Errorf("expiring reservations: %w", err)
		}
	}
	return nil
}
