package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Rebuild begins a new generation of each named read model (all of this binary, if none is named), or continues an
// unfinished one. The instances feed it in addition to the live one. Generations that begin together share one pass
// over the log. With promote a generation becomes live as soon as it has caught up. The work outlives this call and
// this instance. Overview shows its progress, Retire ends it.
//
// Errors: ErrNoGeneration for an unknown name.
func (p *Projector) Rebuild(ctx context.Context, names []string, promote bool) ([]GenerationID, error) {
	projections, err := p.named(names)
	if err != nil {
		return nil, err
	}
	var building []GenerationID
	err = p.operate(ctx, "beginning a rebuild", func(tx pgx.Tx) error {
		building = nil
		for _, projection := range projections {
			id, err := p.begin(ctx, tx, projection, promote)
			if err != nil {
				return err
			}
			building = append(building, id)
		}
		return nil
	})
	return building, err
}

func (p *Projector) named(names []string) ([]Projection, error) {
	if len(names) == 0 {
		return p.config.Projections, nil
	}
	var found []Projection
	for _, name := range names {
		i := slices.IndexFunc(p.config.Projections, func(p Projection) bool { return p.Name == name })
		if i < 0 {
			return nil, ErrNoGeneration
		}
		if !slices.ContainsFunc(found, func(p Projection) bool { return p.Name == name }) {
			found = append(found, p.config.Projections[i])
		}
	}
	return found, nil
}

// begin returns the generation that was never live, or else creates one.
func (p *Projector) begin(ctx context.Context, tx pgx.Tx, projection Projection, promote bool) (GenerationID, error) {
	g, err := oneGeneration(ctx, tx, "name = $1 and version = $2 and live_since is null order by generation desc",
		projection.Name, projection.Version)
	if errors.Is(err, pgx.ErrNoRows) {
		g, err = createGeneration(ctx, tx, projection, generation{promote: promote})
	} else if err == nil && promote {
		_, err = tx.Exec(ctx, "update feed.generations set promote = true where "+thisGeneration, g.Name, g.Version, g.Number)
	}
	if err != nil {
		return GenerationID{}, fmt.Errorf("generation of %s: %w", projection.Name, err)
	}
	return g.GenerationID, nil
}

// Retire drops a generation with its tables: one kept for a rollback, or an unfinished one, which ends the rebuild. A
// live generation is dropped, with its views, only if it has a version other than this binary's and no instance feeds
// it, as after an upgrade.
//
// Errors: ErrNoGeneration; domain.Conflict for a generation in use; domain.Invalid without a number.
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
		return domain.Refuse(domain.Conflict, fmt.Sprintf("Generation %d of %s is live: promote another one first", id.Number,
			id.Name))
	case live && fed:
		return domain.Refuse(domain.Conflict, fmt.Sprintf("Generation %d of %s version %d is live and an instance feeds it",
			id.Number, id.Name, id.Version))
	}
	if _, err := tx.Exec(ctx, "delete from feed.generations where "+thisGeneration,
		id.Name, id.Version, id.Number); err != nil {
		return err
	}
	// The views belong to the live generation, so nothing else depends on this schema.
	_, err = tx.Exec(ctx, "drop schema "+quote(tableSchema(id.Name, id.Version, id.Number))+" cascade")
	return err
}

// GenerationState is the state of a generation, fed by any instance.
type GenerationState string

// The states of a generation.
const (
	GenerationBuilding GenerationState = "building" // behind the live one of its version, and catching up
	GenerationCurrent  GenerationState = "current"  // caught up and being fed
	GenerationStopped  GenerationState = "stopped"  // before an event that it cannot handle, see Parked
	GenerationUnfed    GenerationState = "unfed"    // without a running instance of its version
)

// Generation is one generation of a read model, for operators.
type Generation struct {
	Name     string
	Version  int
	Number   int
	Live     bool // shown by the views of its version
	Promote  bool // becomes live as soon as it has caught up
	State    GenerationState
	Reason   string            // why it stopped
	Instance string            // that feeds it, or ""
	Position eventlog.Position // of the last event whose rows are committed
	Events   int64             // read since the generation was last empty
	Lag      time.Duration     // age of our oldest unread event; zero if there is none
	Rows     int64             // of all its tables; from 1 MiB on, Postgres' estimate
	Bytes    int64             // of all its tables and their indexes
	Parked   int               // events that wait for an operator, including the one that blocks it
	MovedAt  time.Time         // when its checkpoint last moved
	Created  time.Time
}

// Overview has all generations, ordered by name, version and number, and the head of the log at the same time.
type Overview struct {
	Generations []Generation
	Head        eventlog.Position
	At          time.Time
}

// GenerationID identifies a generation. Number 0 means the operation's default.
type GenerationID struct {
	Name    string
	Version int // 0 means the version of this binary
	Number  int
}

// Parked is an event that a generation could not handle.
type Parked struct {
	GenerationID
	Event    uuid.UUID
	Type     string
	Stream   string
	Revision uint64
	Position eventlog.Position
	Reason   string // without personal data
	At       time.Time
}

// Errors of the operations on generations, in addition to those of Postgres and the log.
var (
	ErrNoGeneration = domain.Refuse(domain.NotFound, "There is no such read model or generation")
	ErrNotParked    = domain.Refuse(domain.NotFound, "There is no such parked event")
)

// operationTimeout bounds an operator's change, including retries.
const operationTimeout = 15 * time.Second

// operate changes the catalogue in one transaction, retries while readers or writers block it, and makes this instance
// read the change immediately.
func (p *Projector) operate(ctx context.Context, what string, do func(pgx.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	err := persist(ctx, p.logger, what, func() error {
		return inSetUp(ctx, p.config.Pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, giveWay); err != nil {
				return err
			}
			err := do(tx)
			if domain.CodeOf(err) != "" {
				return &permanentError{err} // a refusal is not retried
			}
			if err != nil {
				return err
			}
			return changeCatalogue(ctx, tx)
		})
	})
	if permanent, found := errors.AsType[*permanentError](err); found && domain.CodeOf(err) != "" {
		err = permanent.err
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	p.Attend()
	return nil
}
