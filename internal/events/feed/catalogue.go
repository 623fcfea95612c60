package feed

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// catalogue is what the database has of the generations that this binary can feed. Operators change it, and its
// revision with it.
type catalogue struct {
	revision    int64
	generations []generation
	tables      map[string]description // by schema
	parkings    map[GenerationID]*parking
}

// readCatalogue reads the revision first: what changes meanwhile shows as another revision later.
func readCatalogue(ctx context.Context, db *pgxpool.Pool, projections []Projection) (catalogue, error) {
	c := catalogue{parkings: map[GenerationID]*parking{}}
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
		schemas[i] = tableSchema(g.name, g.version, g.number)
	}
	if c.tables, err = describeSchemas(ctx, db, schemas...); err != nil {
		return catalogue{}, err
	}
	return c, c.readParkings(ctx, db, ours, names, versions)
}

// fits returns an error when a generation does not have the tables that a projection declares. A generation without any
// was retired meanwhile.
func (c catalogue) fits(p Projection, g generation) error {
	actual, found := c.tables[tableSchema(g.name, g.version, g.number)]
	if !found {
		return nil
	}
	return p.describe().compare(actual)
}

// readParkings reads which events and streams the generations leave out.
func (c *catalogue) readParkings(ctx context.Context, db *pgxpool.Pool, condition string, arguments ...any) error {
	rows, err := db.Query(ctx, "select name, version, generation, event_id, stream, state, "+
		"reason from feed.parked where "+condition,
		arguments...)
	if err != nil {
		return err
	}
	var p Parked
	_, err = pgx.ForEachRow(rows, []any{&p.Name, &p.Version, &p.Number, &p.Event, &p.Stream, &p.State, &p.Reason},
		func() error {
			parking := c.parkings[p.GenerationID]
			if parking == nil {
				parking = newParking()
				c.parkings[p.GenerationID] = parking
			}
			parking.note(p)
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

// changeCatalogue makes every instance read the catalogue anew.
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
