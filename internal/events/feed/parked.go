package feed

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

const parkedColumns = `name, version, generation, event_id, event_type, stream, revision,
	commit_position, prepare_position, reason, parked_at`

// Parked lists the events after a position that generations could not handle, in log order: at most limit of
// them, and those at the same position as the last one.
func (p *Projector) Parked(ctx context.Context, after eventlog.Position, limit int) ([]Parked, error) {
	return p.listParked(ctx, `(commit_position, prepare_position) > ($1, $2)
		order by commit_position, prepare_position fetch first $3 rows with ties`,
		after.Commit, after.Prepare, limit)
}

func scanParked(row pgx.CollectableRow) (Parked, error) {
	var p Parked
	err := row.Scan(&p.Name, &p.Version, &p.Number, &p.Event, &p.Type, &p.Stream, &p.Revision, &p.Position.Commit,
		&p.Position.Prepare, &p.Reason, &p.At)
	return p, err
}

// Skipped resumes every generation without an event that the registry now lists as skipped.
func (p *Projector) Skipped(ctx context.Context, event uuid.UUID) error {
	return p.operate(ctx, "skipping an event", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "delete from feed.parked where event_id = $1", event)
		return err
	})
}

// FindParked returns the place in the log of an event that generations could not handle. Errors: ErrNotParked.
func (p *Projector) FindParked(ctx context.Context, event uuid.UUID) (Parked, error) {
	return p.oneParked(ctx, "event_id = $1 limit 1", event)
}

// Past returns the generations that are past an event of a stream. They lack the event if it was skipped when they
// passed it.
func (p *Projector) Past(ctx context.Context, stream string, at eventlog.Position) ([]GenerationID, error) {
	overview, err := p.Overview(ctx)
	if err != nil {
		return nil, err
	}
	var past []GenerationID
	for _, g := range overview.Generations {
		id := GenerationID{Name: g.Name, Version: g.Version, Number: g.Number}
		projection, err := p.ours(id)
		if reads := err != nil || projection.Streams.Include(stream); reads && g.Position.Compare(at) >= 0 {
			past = append(past, id)
		}
	}
	return past, nil
}

// RetryParked resumes a generation that has stopped before an event, which is tried again. Number 0 is the live
// generation.
//
// Errors: ErrNotParked; domain.Invalid for a generation of a version other than this binary's.
func (p *Projector) RetryParked(ctx context.Context, id GenerationID, event uuid.UUID) error {
	projection, err := p.ours(id)
	if err != nil {
		return err
	}
	parked, err := p.oneParked(ctx, `
		name = $1 and version = $2 and event_id = $4 and generation = case when $3 > 0 then $3 else (
			select generation from feed.generations g where g.name = $1 and g.version = $2 and g.live) end`,
		id.Name, projection.Version, id.Number, event)
	if err != nil {
		return err
	}
	return p.operate(ctx, "trying again what blocked a generation", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "delete from feed.parked where "+thisGeneration+" and event_id = $4",
			parked.Name, parked.Version, parked.Number, event)
		return err
	})
}

// thisGeneration is the condition for the rows of a generation.
const thisGeneration = "name = $1 and version = $2 and generation = $3"

// oneParked returns the first parked event of a condition. Errors: ErrNotParked.
func (p *Projector) oneParked(ctx context.Context, condition string, arguments ...any) (Parked, error) {
	found, err := p.listParked(ctx, condition, arguments...)
	if err == nil && len(found) == 0 {
		err = ErrNotParked
	}
	if err != nil {
		return Parked{}, err
	}
	return found[0], nil
}

func (p *Projector) listParked(ctx context.Context, condition string, arguments ...any) ([]Parked, error) {
	rows, err := p.config.Pool.Query(ctx, "select "+parkedColumns+" from feed.parked where "+condition, arguments...)
	if err != nil {
		return nil, fmt.Errorf("listing parked events: %w", err)
	}
	parked, err := pgx.CollectRows(rows, scanParked)
	if err != nil {
		return nil, fmt.Errorf("listing parked events: %w", err)
	}
	return parked, nil
}

// block records that a generation has stopped before an event, until an operator retries or skips it, or another
// instance tries it.
func block(ctx context.Context, db *pgxpool.Pool, m *member, event eventlog.Recorded, reason string) error {
	_, err := db.Exec(ctx, `
		insert into feed.parked (name, version, generation, event_id, event_type, stream, revision,
			commit_position, prepare_position, state, reason)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'blocking', $10)
		on conflict (name, version, generation, event_id) do update set reason = excluded.reason`,
		m.Name, m.Version, m.Number, event.ID, event.Type, event.Stream, event.Revision, event.Position.Commit,
		event.Position.Prepare, reason)
	return err
}

// unblock removes what blocked the generation, for an instance that tries it.
func unblock(ctx context.Context, tx pgx.Tx, m *member) error {
	tag, err := tx.Exec(ctx, "delete from feed.parked where "+thisGeneration, m.Name, m.Version, m.Number)
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	return changeCatalogue(ctx, tx)
}

// Alert is a problem of a generation that needs an operator.
type Alert struct {
	Generation GenerationID
	Reason     alert.Reason
	Event      uuid.UUID         // id of the event concerned; zero if there is none
	Position   eventlog.Position // of the event, or else of the checkpoint; zero if neither is known
	Detail     string            // what happened, without personal data
}

// GenerationName returns the name of a generation in alerts.
func GenerationName(name string, version, number int) string {
	return fmt.Sprintf("%s_v%d_g%d", name, version, number)
}

// Subject identifies the generation and, where it is known, its position. It is the same on every instance.
func (a Alert) Subject() string {
	generation := GenerationName(a.Generation.Name, a.Generation.Version, a.Generation.Number)
	if a.Position == (eventlog.Position{}) {
		return generation
	}
	return generation + " at " + a.Position.String()
}
