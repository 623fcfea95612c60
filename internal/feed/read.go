package feed

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/readmodel"
)

// ErrBehind is returned for read models that show less than they have shown before: Postgres has lost its last commits, which
// are read again from the log, or the read model is built again because it is of another log or epoch.
var ErrBehind = domain.Refuse(domain.Unavailable, "The read models are behind what they have shown before")

const (
	readPatience = 2 * time.Second // how long a read may take, waiting for what was shown before included
	readAgain    = 20 * time.Millisecond
)

// Read runs a query of read models, calls row with each row, and returns the position in the log that the rows show, in the
// form of the header x-recital-position. They show at least what this instance knew to be committed when Read was called:
// what it has shown, and what Wait has confirmed. It panics if there is no projection of a model.
//
// Errors: ErrBehind; those of the query and of row.
func (p *Projector) Read(ctx context.Context, models []readmodel.Model, query string, arguments []any, row func(pgx.CollectableRow) error) (string, error) {
	r := reading{models: p.chosen(models), log: p.config.Identity, query: query, arguments: arguments, row: row}
	for _, model := range r.models {
		r.known = append(r.known, model.known())
	}
	ctx, cancel := context.WithTimeout(ctx, readPatience)
	defer cancel()
	for {
		shown, err := r.once(ctx, p.config.Pool)
		if err != nil {
			return "", fmt.Errorf("reading views: %w", err)
		}
		if !r.behind(shown) {
			return slices.MinFunc(shown, eventlog.Position.Compare).String(), nil
		}
		if pause(ctx, readAgain) != nil {
			return "", fmt.Errorf("reading views: %w", ErrBehind)
		}
	}
}

// reading is a call of Read.
type reading struct {
	models    []*progress
	log       eventlog.Identity
	known     []eventlog.Position // of each model
	query     string
	arguments []any
	row       func(pgx.CollectableRow) error
}

func (r reading) behind(shown []eventlog.Position) bool {
	for i, position := range shown {
		if position == nowhere || position.Compare(r.known[i]) < 0 {
			return true
		}
	}
	return false
}

// nowhere is the position of a read model that is not of this log.
var nowhere = eventlog.Position{Commit: math.MaxUint64, Prepare: math.MaxUint64}

// once runs the query, and returns the positions of the models, which are of the same snapshot. It calls row only where
// they are not behind.
func (r reading) once(ctx context.Context, db database) (shown []eventlog.Position, err error) {
	rows, err := db.Query(ctx, r.sql(), r.arguments...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		if shown == nil {
			if shown, err = r.positions(rows); err != nil {
				return nil, err
			}
		}
		rest := queried{rows, len(r.models) + 1}
		if r.behind(shown) || rows.RawValues()[len(r.models)] == nil {
			break
		}
		if err := r.row(rest); err != nil {
			return nil, err
		}
	}
	rows.Close()
	return shown, rows.Err()
}

// sql returns the query with, before its columns, the position of each model (NULL where its live generation is not of this
// log) and whether there is a row. It selects one row where the query selects none.
func (r reading) sql() string {
	var s strings.Builder
	s.WriteString("select ")
	for _, model := range r.models {
		fmt.Fprintf(&s, `(select array[c.commit_position, c.prepare_position] from feed.generations g
			join feed.checkpoints c using (name, version, generation)
			where g.live and g.name = '%s' and g.version = %d and c.log_id = '%s' and c.epoch = %d), `,
			model.model.Name, model.model.Version, r.log.LogID, r.log.Epoch)
	}
	s.WriteString("queried.* from (select) one left join lateral (select true as found, query.* from (")
	s.WriteString(r.query)
	s.WriteString(") query) queried on true")
	return s.String()
}

// positions scans the positions of a row, and notes that they were shown.
func (r reading) positions(rows pgx.Rows) ([]eventlog.Position, error) {
	pairs := make([][]int64, len(r.models))
	columns := make([]any, len(rows.FieldDescriptions()))
	for i := range pairs {
		columns[i] = &pairs[i]
	}
	if err := rows.Scan(columns...); err != nil {
		return nil, err
	}
	positions := make([]eventlog.Position, len(pairs))
	for i, pair := range pairs {
		positions[i] = nowhere
		if len(pair) == 2 {
			positions[i] = eventlog.Position{Commit: uint64(pair[0]), Prepare: uint64(pair[1])}
			r.models[i].see(positions[i])
		}
	}
	return positions, nil
}

// queried is a row without its first columns.
type queried struct {
	pgx.CollectableRow
	skip int
}

// FieldDescriptions implements pgx.CollectableRow.
func (q queried) FieldDescriptions() []pgconn.FieldDescription {
	return q.CollectableRow.FieldDescriptions()[q.skip:]
}

// Scan implements pgx.CollectableRow.
func (q queried) Scan(columns ...any) error {
	return q.CollectableRow.Scan(append(make([]any, q.skip), columns...)...)
}

// Values implements pgx.CollectableRow.
func (q queried) Values() ([]any, error) {
	values, err := q.CollectableRow.Values()
	return values[min(q.skip, len(values)):], err
}

// RawValues implements pgx.CollectableRow.
func (q queried) RawValues() [][]byte { return q.CollectableRow.RawValues()[q.skip:] }
