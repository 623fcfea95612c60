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

// Rebuild begins a new generation of each named read model (all of this binary, if none is named), or continues the one
// that is already being built. The instances feed it in addition to the live one. Generations that begin together share
// one pass over the log. With promote a generation becomes live as soon as it has caught up. The work outlives this
// call and this instance. Overview shows its progress, Retire ends it.
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

// begin returns the generation that was never live, or creates one.
func (p *Projector) begin(ctx context.Context, tx pgx.Tx, projection Projection, promote bool) (GenerationID, error) {
	id := GenerationID{Name: projection.Name, Version: projection.Version}
	g, err := oneGeneration(ctx, tx, "name = $1 and version = $2 and live_since is null order by generation desc", id.Name,
		id.Version)
	if errors.Is(err, pgx.ErrNoRows) {
		if g.number, err = nextNumber(ctx, tx, id); err == nil {
			g, err = createGeneration(ctx, tx, projection, generation{number: g.number, promote: promote})
		}
	} else if err == nil && promote {
		_, err = tx.Exec(ctx, "update feed.generations set promote = true where name = $1 and version "+
			"= $2 and generation = $3",
			id.Name, id.Version, g.number)
	}
	id.Number = g.number
	if err != nil {
		return GenerationID{}, fmt.Errorf("generation of %s: %w", id.Name, err)
	}
	return id, nil
}

// nextNumber is never the number of a generation that stands. A retired one's number may come again.
func nextNumber(ctx context.Context, tx pgx.Tx, id GenerationID) (number int, err error) {
	err = tx.QueryRow(ctx, "select coalesce(max(generation), 0) + 1 from feed.generations where "+
		"name = $1 and version = $2",
		id.Name, id.Version).Scan(&number)
	return number, err
}

// Retire drops a generation with its tables: one that is kept for a rollback, or one that is being built, which ends
// the rebuild. A live one is dropped, with its views, only when it is of another version than this binary's and no
// instance feeds it: after an upgrade.
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
		return domain.Refuse(domain.Conflict, fmt.Sprintf("Generation %d of %s is live: promote another one first", id.Number,
			id.Name))
	case live && fed:
		return domain.Refuse(domain.Conflict, fmt.Sprintf("Generation %d of %s version %d is live and an instance feeds it",
			id.Number, id.Name, id.Version))
	}
	if _, err := tx.Exec(ctx, "delete from feed.generations where name = $1 and version = $2 and generation = $3",
		id.Name, id.Version, id.Number); err != nil {
		return err
	}
	// The views belong to the live generation, so nothing else depends on this schema.
	_, err = tx.Exec(ctx, "drop schema "+quote(tableSchema(id.Name, id.Version, id.Number))+" cascade")
	return err
}

// GenerationState is the state of a generation, whichever instance feeds it.
type GenerationState string

// The states of a generation.
const (
	GenerationBuilding GenerationState = "building" // it is behind the live one of its version, and catching up
	GenerationCurrent  GenerationState = "current"  // it has caught up and is being fed
	GenerationStopped  GenerationState = "stopped"  // it met an event that it cannot handle, see Parked
	GenerationUnfed    GenerationState = "unfed"    // no instance of its version runs
)

// Generation is one generation of a read model, as operators see it.
type Generation struct {
	Name     string
	Version  int
	Number   int
	Live     bool // the views of its version show it
	Promote  bool // is to become live as soon as it has caught up
	State    GenerationState
	Reason   string            // why it stopped
	Instance string            // that feeds it; "" for none
	Position eventlog.Position // of the last event whose rows are committed
	Events   int64             // read since the generation was last empty
	Lag      time.Duration     // age of the oldest event of ours that it has not read; zero when there is none
	Rows     int64             // of all its tables; from 1 MiB on as Postgres estimates
	Bytes    int64             // of all its tables, with their indexes
	Parked   int               // events that wait for an operator, the one that blocks it included
	MovedAt  time.Time         // when its checkpoint last moved
	Created  time.Time
}

// Overview is all generations, in the order of name, version and number, and the head of the log at that moment.
type Overview struct {
	Generations []Generation
	Head        eventlog.Position
	At          time.Time
}

// GenerationID names a generation. Number 0 means the one that the operation is for by default.
type GenerationID struct {
	Name    string
	Version int // 0 means the version of this binary
	Number  int
}

// ParkedState is the state of an event that a generation could not handle.
type ParkedState string

// The states of a parked event.
const (
	ParkedBlocking ParkedState = "blocking" // the generation stopped before it
	ParkedWaiting  ParkedState = "parked"   // the generation continued without it and later events of its stream
)

// Parked is an event that a generation could not handle.
type Parked struct {
	GenerationID
	Event    uuid.UUID
	Type     string
	Stream   string
	Revision uint64
	Position eventlog.Position
	State    ParkedState
	Reason   string // holds no personal data
	At       time.Time
}

// Errors of the operations on generations, in addition to those of Postgres and the log.
var (
	ErrNoGeneration = domain.Refuse(domain.NotFound, "There is no such read model or generation")
	ErrNotParked    = domain.Refuse(domain.NotFound, "There is no such parked event")
)

// operationTimeout bounds an operator's change, with its tries.
const operationTimeout = 15 * time.Second

// operate changes the catalogue in one transaction, tries again while readers or writers are in the way, and has this
// instance take note at once.
func (p *Projector) operate(ctx context.Context, what string, do func(pgx.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	err := persist(ctx, p.logger, what, func() error {
		return inSetUp(ctx, p.config.Pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, giveWay); err != nil {
				return err
			}
			if err := do(tx); err != nil {
				return refused(err)
			}
			return changeCatalogue(ctx, tx)
		})
	})
	var permanent *permanentError
	if errors.As(err, &permanent) && domain.CodeOf(err) != "" {
		err = permanent.err
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	p.Attend()
	return nil
}

// refused keeps a refusal from being tried again.
func refused(err error) error {
	if domain.CodeOf(err) != "" {
		return &permanentError{err}
	}
	return err
}
