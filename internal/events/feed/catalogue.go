package feed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recital-tts/recital/domain"
)

// catalogue holds the database's generations that this binary can feed. Operators change it together with its revision.
type catalogue struct {
	revision    int64
	generations []generation
	tables      map[string]description   // by schema
	blocked     map[GenerationID]blocked // of those that have stopped
}

// readCatalogue reads the revision first, so that a concurrent change is detected later by its revision.
func readCatalogue(ctx context.Context, db *pgxpool.Pool, projections []Projection) (catalogue, error) {
	c := catalogue{blocked: map[GenerationID]blocked{}}
	var err error
	if c.revision, err = catalogueRevision(ctx, db); err != nil {
		return catalogue{}, err
	}
	names, versions := namesAndVersions(projections)
	const ours = "(name, version) in (select * from unnest($1::text[], $2::integer[]))"
	rows, err := db.Query(ctx,
		"select "+generationColumns+" from feed.generations where "+ours+" order by name, generation",
		names, versions)
	if err != nil {
		return catalogue{}, err
	}
	if c.generations, err = pgx.CollectRows(rows, scanGeneration); err != nil {
		return catalogue{}, err
	}
	schemas := make([]string, len(c.generations))
	for i, g := range c.generations {
		schemas[i] = tableSchema(g.Name, g.Version, g.Number)
	}
	if c.tables, err = describeSchemas(ctx, db, schemas...); err != nil {
		return catalogue{}, err
	}
	return c, c.readBlocked(ctx, db, ours, names, versions)
}

// fits returns an error if a generation does not have the tables that a projection declares. A generation without
// tables was retired meanwhile.
func (c catalogue) fits(p Projection, g generation) error {
	actual, found := c.tables[tableSchema(g.Name, g.Version, g.Number)]
	if !found {
		return nil
	}
	return p.describe().compare(actual)
}

// blocked is the event before which a generation has stopped, and the reason; zero if it has not.
type blocked struct {
	by     uuid.UUID
	reason string
}

func (c *catalogue) readBlocked(ctx context.Context, db *pgxpool.Pool, condition string, arguments ...any) error {
	rows, err := db.Query(ctx, "select name, version, generation, event_id, reason from feed.parked where "+condition,
		arguments...)
	if err != nil {
		return err
	}
	var id GenerationID
	var b blocked
	_, err = pgx.ForEachRow(rows, []any{&id.Name, &id.Version, &id.Number, &b.by, &b.reason}, func() error {
		c.blocked[id] = b
		return nil
	})
	return err
}

func catalogueRevision(ctx context.Context, db *pgxpool.Pool) (int64, error) {
	rows, err := db.Query(ctx, "select revision from feed.catalogue")
	if err != nil {
		return 0, err
	}
	revision, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
	if err != nil {
		return 0, fmt.Errorf("reading the catalogue's revision: %w", err)
	}
	return revision, nil
}

// changeCatalogue makes every instance read the catalogue again.
func changeCatalogue(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, "update feed.catalogue set revision = revision + 1")
	return err
}

func namesAndVersions(projections []Projection) (names []string, versions []int) {
	for _, p := range projections {
		names, versions = append(names, p.Name), append(versions, p.Version)
	}
	return names, versions
}

// inRelaxedTransaction runs a transaction that does not wait for the disk. If a crash of Postgres loses its rows and
// checkpoint, both are replayed from the log.
func inRelaxedTransaction(ctx context.Context, db *pgxpool.Pool, do func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, db, pgx.TxOptions{BeginQuery: "begin; set local synchronous_commit = off"}, do)
}

// rejected returns the server's answer to a statement, or nil for any other error.
func rejected(err error) *pgconn.PgError {
	answer, _ := errors.AsType[*pgconn.PgError](err)
	return answer
}

// permanentClasses are the classes of SQLSTATE that an event's own values can cause: cardinality, data, integrity,
// syntax or access, checked views, program limits, and features that Postgres does not have.
var permanentClasses = map[string]bool{"21": true, "22": true, "23": true, "42": true, "44": true, "54": true,
	"0A": true}

// transient reports whether the same work may succeed later, because the error was not caused by the event's values: a
// lost connection, a deadlock, a full disk, a server that shuts down, or missing privileges.
func transient(err error) bool {
	if errors.As(err, new(*permanentError)) || errors.Is(err, errMoved) || errors.Is(err, errRetired) {
		return false
	}
	answer := rejected(err)
	return answer == nil || len(answer.Code) < 2 || answer.Code == insufficientPrivilege ||
		!permanentClasses[answer.Code[:2]]
}

// insufficientPrivilege is Postgres' code for a missing privilege.
const insufficientPrivilege = "42501"

// permanentError is a failure that the event itself causes.
type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

const (
	firstRetry = 10 * time.Millisecond
	lastRetry  = 2 * time.Second
)

// persist repeats an operation while its errors are transient, without limit, until ctx ends.
func persist(ctx context.Context, logger *slog.Logger, what string, operation func() error) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = firstRetry, lastRetry
	level := slog.LevelWarn // of the first failure; later ones are logged at debug level
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := operation()
		if err != nil && !transient(err) {
			return struct{}{}, backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pauses), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, after time.Duration) {
			logger.Log(ctx, level, "trying again", "step", what, "after", after, "error", withoutValues(err))
			level = slog.LevelDebug
		}))
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// withoutValues returns an error's text for logs and alerts. The server's messages may quote values of rows, so only
// the code, the table, the column and the constraint are kept.
func withoutValues(err error) string {
	answer := rejected(err)
	if answer == nil {
		return err.Error()
	}
	text := "Postgres refused with SQLSTATE " + answer.Code
	for _, place := range []string{answer.TableName, answer.ColumnName, answer.ConstraintName} {
		if place != "" {
			text += " " + place
		}
	}
	return text
}

var errUnanswered = domain.Refuse(domain.Unavailable, "The read models do not answer")

// Answered returns the error of an operation, wrapped with domain.Unavailable if Postgres did not respond or may
// succeed later, so that the request is not blamed.
func Answered(err error) error {
	if unanswered(err) {
		return errors.Join(err, errUnanswered)
	}
	return err
}

// A missing view belongs to a read model without a first generation yet.
func unanswered(err error) bool {
	if answer := rejected(err); answer != nil {
		return answer.Code == undefinedTable || transient(err)
	}
	return errors.As(err, new(*pgconn.ConnectError)) || errors.As(err, new(net.Error)) || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
