package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/domain"
)

// Retire drops a generation with its tables: one that is kept for a rollback, or one that is being built, which ends the
// rebuild. A live one is dropped, with its views, only when it is of another version than this binary's and no instance
// feeds it: after an upgrade.
//
// Errors: ErrNoGeneration; domain.Conflict for one that is in use; domain.Invalid without a number.
func (p *Projector) Retire(ctx context.Context, id GenerationID) error {
	if id.Number < 1 {
		return domain.Refuse(domain.Invalid, "Name the generation to retire by its number")
	}
	own := slices.IndexFunc(p.config.Projections, func(p Projection) bool { return p.Name == id.Name })
	if id.Version == 0 && own < 0 {
		return ErrNoGeneration
	}
	if id.Version == 0 {
		id.Version = p.config.Projections[own].Version
	}
	ourVersion := own >= 0 && p.config.Projections[own].Version == id.Version
	return p.operate(ctx, "retiring", func(tx pgx.Tx) error { return retire(ctx, tx, id, ourVersion) })
}

func retire(ctx context.Context, tx pgx.Tx, id GenerationID, ourVersion bool) error {
	var live, fed bool
	err := tx.QueryRow(ctx, `
		select g.live, c.holder is not null and c.lease_until > clock_timestamp()
		from feed.generations g join feed.checkpoints c using (name, version, generation)
		where name = $1 and version = $2 and generation = $3 for update`, id.Name, id.Version, id.Number).Scan(&live, &fed)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return ErrNoGeneration
	case err != nil:
		return err
	case live && ourVersion:
		return domain.Refuse(domain.Conflict, fmt.Sprintf("Generation %d of %s is live: promote another one first", id.Number, id.Name))
	case live && fed:
		return domain.Refuse(domain.Conflict, fmt.Sprintf("Generation %d of %s version %d is live and an instance feeds it", id.Number, id.Name, id.Version))
	}
	if _, err := tx.Exec(ctx, "delete from feed.generations where name = $1 and version = $2 and generation = $3",
		id.Name, id.Version, id.Number); err != nil {
		return err
	}
	// The views of a generation that is not live are those of another one, so nothing else hangs on the schema.
	_, err = tx.Exec(ctx, "drop schema "+quote(tableSchema(id.Name, id.Version, id.Number))+" cascade")
	return err
}
