package feed

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// BarePageEvents is the size of WriteBare's pages. It is independent of the feed's, so that figures of different
// releases can be compared.
const BarePageEvents = 1000

// WriteBare writes the rows of the pages into separate tables, with a transaction for each page, from prepared
// statements: without log, decoding, handler or checkpoint. It returns the time and the number of rows.
func WriteBare(
	ctx context.Context, pool *pgxpool.Pool, projections []Projection, pages [][]eventlog.Decoded,
) (time.Duration, int, error) {
	var members []*member
	for _, p := range projections {
		members = append(members, newMember(p, generation{GenerationID: GenerationID{Number: 9999}}, nil))
		schema := tableSchema(p.Name, p.Version, 9999)
		statements := []string{"drop schema if exists " + quote(schema) + " cascade", "create schema " + quote(schema)}
		for _, t := range p.Tables {
			statements = append(statements, t.DDL(schema)...)
		}
		for _, statement := range statements {
			if _, err := pool.Exec(ctx, statement); err != nil {
				return 0, 0, err
			}
		}
	}
	var took time.Duration
	written := 0
	for _, page := range pages {
		batch := &pgx.Batch{}
		for _, m := range members {
			rows, err := m.turnedInto(page)
			if err != nil {
				return 0, 0, err
			}
			written += rows.Count()
			for _, w := range m.writers {
				w.Queue(batch, rows)
			}
		}
		began := time.Now()
		err := inRelaxedTransaction(ctx, pool, func(tx pgx.Tx) error { return tx.SendBatch(ctx, batch).Close() })
		if err != nil {
			return 0, 0, err
		}
		took += time.Since(began)
	}
	return took, written, nil
}
