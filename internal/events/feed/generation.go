package feed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recital-tts/recital/internal/events/readmodel"
)

// setUpLock keeps two instances from changing the same schemas concurrently. The number is arbitrary.
const setUpLock = 7_368_201

// generation is a generation of a read model in the database.
type generation struct {
	GenerationID
	live        bool
	promote     bool // becomes live as soon as it has caught up
	viewsDigest []byte
}

const generationColumns = "name, version, generation, live, promote, views_digest"

func scanGeneration(row pgx.CollectableRow) (generation, error) {
	var g generation
	err := row.Scan(&g.Name, &g.Version, &g.Number, &g.live, &g.promote, &g.viewsDigest)
	return g, err
}

// inSetUp runs a transaction that may change schemas. Only one of these runs at a time.
func inSetUp(ctx context.Context, db *pgxpool.Pool, do func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", setUpLock); err != nil {
			return err
		}
		return do(tx)
	})
}

// setUp makes sure that the projection has a live generation with its tables, its checkpoint and its views, as the
// projection declares them. Whatever of these was deleted by hand is created again, empty, at the log's start.
func setUp(ctx context.Context, db *pgxpool.Pool, p Projection) error {
	err := inSetUp(ctx, db, func(tx pgx.Tx) error {
		if err := forgetDropped(ctx, tx, p); err != nil {
			return err
		}
		live, err := liveGeneration(ctx, tx, p.Name, p.Version)
		if errors.Is(err, pgx.ErrNoRows) {
			live, err = createGeneration(ctx, tx, p, generation{live: true}) // others may be kept for a rollback
		}
		if err != nil {
			return err
		}
		if err := createCheckpoints(ctx, tx, p.Name, p.Version); err != nil {
			return err
		}
		if err := checkTables(ctx, tx, p, live.Number); err != nil {
			return err
		}
		if !bytes.Equal(live.viewsDigest, viewsDigest(p, live.Number)) {
			if err := putViews(ctx, tx, p, live.Number, otherViews); err != nil {
				return err
			}
		}
		return checkViews(ctx, tx, p)
	})
	if err != nil {
		return fmt.Errorf("setting up read model %s: %w", p.Name, err)
	}
	return nil
}

// forgetDropped removes the generations whose schema has been dropped.
func forgetDropped(ctx context.Context, tx pgx.Tx, p Projection) error {
	_, err := tx.Exec(ctx, `
		delete from feed.generations where name = $1 and version = $2
		and to_regnamespace(format('rm_%s_v%s_g%s', name, version, generation)) is null`, p.Name, p.Version)
	return err
}

func liveGeneration(ctx context.Context, tx pgx.Tx, name string, version int) (generation, error) {
	return oneGeneration(ctx, tx, "name = $1 and version = $2 and live", name, version)
}

// oneGeneration returns the first generation of a condition. Errors: pgx.ErrNoRows.
func oneGeneration(ctx context.Context, tx pgx.Tx, condition string, arguments ...any) (generation, error) {
	rows, err := tx.Query(ctx, "select "+generationColumns+" from feed.generations where "+condition+" limit 1",
		arguments...)
	if err != nil {
		return generation{}, err
	}
	return pgx.CollectExactlyOneRow(rows, scanGeneration)
}

// createGeneration creates an empty generation with the next number, which a retired one may have had: its schema with
// the tables, and its checkpoint. A schema of that name belongs to no generation, and is replaced.
func createGeneration(ctx context.Context, tx pgx.Tx, p Projection, g generation) (generation, error) {
	err := tx.QueryRow(ctx, `
		select coalesce(max(generation), 0) + 1 from feed.generations where name = $1 and version = $2`,
		p.Name, p.Version).Scan(&g.Number)
	if err != nil {
		return generation{}, err
	}
	schema := tableSchema(p.Name, p.Version, g.Number)
	statements := []string{"drop schema if exists " + quote(schema) + " cascade", "create schema " + quote(schema)}
	for _, t := range p.Tables {
		statements = append(statements, t.DDL(schema)...)
	}
	if err := execAll(ctx, tx, statements...); err != nil {
		return generation{}, err
	}
	g.Name, g.Version, g.viewsDigest = p.Name, p.Version, []byte{}
	if _, err := tx.Exec(ctx, `
		insert into feed.generations (`+generationColumns+`, live_since)
		values ($1, $2, $3, $4, $5, $6, case when $4 then now() end)`,
		g.Name, g.Version, g.Number, g.live, g.promote, g.viewsDigest); err != nil {
		return generation{}, err
	}
	return g, createCheckpoints(ctx, tx, g.Name, g.Version)
}

// createCheckpoints creates the missing checkpoints of a read model's generations. They are of no log, so whoever feeds
// such a generation empties it first and builds it from the start.
func createCheckpoints(ctx context.Context, tx pgx.Tx, name string, version int) error {
	_, err := tx.Exec(ctx, `
		insert into feed.checkpoints (name, version, generation, live, log_id, epoch)
		select name, version, generation, live, $3, 0 from feed.generations where name = $1 and version = $2
		on conflict (name, version, generation) do nothing`, name, version, uuid.Nil)
	return err
}

// viewChange is the way in which views are replaced.
type viewChange bool

const (
	sameViews  viewChange = false // with the same columns: replaced in place, which does not affect readers
	otherViews viewChange = true  // with other columns: dropped and created
)

// putViews points the views of the projection's version to a generation.
func putViews(ctx context.Context, tx pgx.Tx, p Projection, number int, change viewChange) error {
	if err := noteViews(ctx, tx, p, number); err != nil {
		return err
	}
	return execTogether(ctx, tx, viewStatements(p, number, change))
}

// viewStatements returns the statements that point the views of the projection's version to a generation. The timeout
// of the lock is shorter than Postgres' deadlock timeout (1 s), so that this transaction fails rather than a reader,
// and readers do not queue behind it for long.
func viewStatements(p Projection, number int, change viewChange) []string {
	views := readmodel.Schema(p.Version)
	statements := []string{
		"create schema if not exists " + quote(views),
		giveWay,
		"set local search_path = " + quote(tableSchema(p.Name, p.Version, number)),
	}
	for _, v := range p.Views {
		name := quote(views, v.Name)
		if change == otherViews {
			statements = append(statements, "drop view if exists "+name)
		}
		statements = append(statements, "create or replace view "+name+" as "+v.Select)
	}
	return statements
}

// noteViews records the views of a generation.
func noteViews(ctx context.Context, tx pgx.Tx, p Projection, number int) error {
	_, err := tx.Exec(ctx, "update feed.generations set views_digest = $4 where "+thisGeneration,
		p.Name, p.Version, number, viewsDigest(p, number))
	return err
}

// giveWay limits the wait for locks, so that a transaction fails before others queue behind it for long.
const giveWay = "set local lock_timeout = '200ms'"

// quote makes a qualified SQL name.
func quote(parts ...string) string { return pgx.Identifier(parts).Sanitize() }

// emptyTables empties a generation's tables, for a rebuild in place.
func emptyTables(ctx context.Context, tx pgx.Tx, p Projection, number int) error {
	schema := tableSchema(p.Name, p.Version, number)
	for _, t := range p.Tables {
		if _, err := tx.Exec(ctx, "truncate "+quote(schema, t.Name())); err != nil {
			return err
		}
	}
	return nil
}

func execAll(ctx context.Context, tx pgx.Tx, statements ...string) error {
	for _, statement := range statements {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// execTogether executes statements in one round trip, so that locks are not held during further ones.
func execTogether(ctx context.Context, tx pgx.Tx, statements []string) error {
	_, err := tx.Exec(ctx, strings.Join(statements, ";\n"))
	return err
}

func viewsDigest(p Projection, number int) []byte {
	h := sha256.New()
	fmt.Fprintln(h, number)
	for _, v := range p.Views {
		fmt.Fprintln(h, v.Name, v.Select)
	}
	return h.Sum(nil)
}
