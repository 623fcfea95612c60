package feed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/internal/eventlog"
)

// setUpLock keeps two instances from creating the same schemas at once. The number only has to be the same everywhere.
const setUpLock = 7_368_201

// generation is a generation of a read model, as the database has it.
type generation struct {
	number       int
	tablesDigest []byte
	viewsDigest  []byte
}

// setUp makes sure that the projection has a live generation with its tables, its checkpoint and its views. It gives
// the number of that generation.
func setUp(ctx context.Context, db database, p Projection, log eventlog.Identity) (int, error) {
	var number int
	err := inTransaction(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", setUpLock); err != nil {
			return err
		}
		live, err := liveGeneration(ctx, tx, p)
		if errors.Is(err, pgx.ErrNoRows) {
			live, err = createGeneration(ctx, tx, p, 1, log)
		}
		if err != nil {
			return err
		}
		if !bytes.Equal(live.tablesDigest, tablesDigest(p)) {
			return &permanentError{fmt.Errorf(
				"the tables of version %d differ from those in the database: give the projection a new version", p.Version)}
		}
		number = live.number
		return putViews(ctx, tx, p, live)
	})
	if err != nil {
		return 0, fmt.Errorf("setting up read model %s: %w", p.Name, err)
	}
	return number, nil
}

func liveGeneration(ctx context.Context, tx pgx.Tx, p Projection) (generation, error) {
	var g generation
	err := tx.QueryRow(ctx, `
		select generation, tables_digest, views_digest
		from feed.generations where name = $1 and version = $2 and live`, p.Name, p.Version,
	).Scan(&g.number, &g.tablesDigest, &g.viewsDigest)
	return g, err
}

// createGeneration creates an empty generation: its schema with the tables, and its checkpoint at the log's start.
func createGeneration(ctx context.Context, tx pgx.Tx, p Projection, number int, log eventlog.Identity) (generation, error) {
	schema := tableSchema(p.Name, p.Version, number)
	statements := []string{"create schema " + quote(schema)}
	for _, t := range p.Tables {
		statements = append(statements, t.ddl(schema)...)
	}
	for _, statement := range statements {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return generation{}, err
		}
	}
	g := generation{number: number, tablesDigest: tablesDigest(p), viewsDigest: []byte{}}
	if _, err := tx.Exec(ctx, `
		insert into feed.generations (name, version, generation, live, tables_digest, views_digest)
		values ($1, $2, $3, true, $4, $5)`, p.Name, p.Version, number, g.tablesDigest, g.viewsDigest); err != nil {
		return generation{}, err
	}
	_, err := tx.Exec(ctx, `
		insert into feed.checkpoints (name, version, generation, log_id, epoch)
		values ($1, $2, $3, $4, $5)`, p.Name, p.Version, number, log.LogID, log.Epoch)
	return g, err
}

// putViews points the views of the projection's version to the generation, unless they stand as they should.
func putViews(ctx context.Context, tx pgx.Tx, p Projection, live generation) error {
	digest := viewsDigest(p, live.number)
	if bytes.Equal(live.viewsDigest, digest) {
		return nil
	}
	views := viewSchema(p.Version)
	statements := []string{
		"create schema if not exists " + quote(views),
		"set local lock_timeout = '2s'", // rather try again than make readers queue behind us
		"set local search_path = " + quote(tableSchema(p.Name, p.Version, live.number)),
	}
	for _, v := range p.Views {
		name := quote(views, v.Name)
		statements = append(statements, "drop view if exists "+name, "create view "+name+" as "+v.Select)
	}
	for _, statement := range statements {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `
		update feed.generations set views_digest = $4
		where name = $1 and version = $2 and generation = $3`, p.Name, p.Version, live.number, digest)
	return err
}

// emptyTables empties a generation's tables, for a rebuild in place.
func emptyTables(ctx context.Context, tx pgx.Tx, p Projection, number int) error {
	schema := tableSchema(p.Name, p.Version, number)
	for _, t := range p.Tables {
		if _, err := tx.Exec(ctx, "truncate "+quote(schema, t.name)); err != nil {
			return err
		}
	}
	return nil
}

func tablesDigest(p Projection) []byte {
	h := sha256.New()
	for _, t := range p.Tables {
		for _, statement := range t.ddl("") {
			fmt.Fprintln(h, statement)
		}
	}
	return h.Sum(nil)
}

func viewsDigest(p Projection, number int) []byte {
	h := sha256.New()
	fmt.Fprintln(h, number)
	for _, v := range p.Views {
		fmt.Fprintln(h, v.Name, v.Select)
	}
	return h.Sum(nil)
}
