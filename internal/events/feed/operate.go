package feed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

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
	ParkedWaiting  ParkedState = "parked"   // the generation went on without it and without what follows in its stream
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

// Errors of the operations on generations, beside those of Postgres and the log.
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
