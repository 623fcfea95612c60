package feed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/process/pause"
)

// ErrBehind is returned for read models that show less than before: Postgres has lost its last commits, which are read
// again from the log, or the read model belonged to another log or epoch and is being rebuilt.
var ErrBehind = domain.Refuse(domain.Unavailable, "The read models are behind what they have shown before")

const (
	readPatience = 2 * time.Second // maximum time of a read, including the wait for the shown position
	readAgain    = 20 * time.Millisecond
)

// Read runs a query of read models, calls row with each row, and returns the position in the log that the rows show, in
// the form of the header x-recital-position. They show at least what this instance knew to be committed when Read was
// called: the position that it has shown, and the one that Wait has confirmed. Queries must differ only in their
// arguments, so that the few texts are prepared once. It panics if there is no projection of a model.
//
// Errors: ErrBehind; domain.Unavailable if Postgres does not respond; errors of the query and of row.
func (p *Projector) Read(
	ctx context.Context, models []readmodel.Model, query string, arguments []any, row func(pgx.CollectableRow) error,
) (string, error) {
	r := reading{statement: p.statement(models, query), arguments: arguments, row: row}
	r.known = make([]eventlog.Position, 0, len(r.progress))
	for _, model := range r.progress {
		r.known = append(r.known, model.known())
	}
	deadline := p.deadline.now()
	behind := false
	for {
		shown, err := r.once(ctx, deadline, p.config.Pool)
		if behind && err != nil && (ctx.Err() != nil || deadline.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded)) {
			err = ErrBehind // the connection's deadline may end before the context's
		}
		if err != nil {
			return "", fmt.Errorf("reading views: %w", Answered(err))
		}
		if !r.behind(shown) {
			return slices.MinFunc(shown, eventlog.Position.Compare).String(), nil
		}
		behind = true
		if pause.For(ctx, readAgain) != nil || deadline.Err() != nil {
			return "", fmt.Errorf("reading views: %w", ErrBehind)
		}
	}
}

// readDeadline ends reads. Reads that begin within the same tenth of a second share one context, so that none needs a
// timer of its own.
type readDeadline struct {
	mu     sync.Mutex
	ctx    context.Context    // nil before the first read
	end    context.CancelFunc // not called: reads have the context until its deadline
	shared time.Time          // end of the time in which it is shared
}

const deadlineShared = 100 * time.Millisecond

// now returns a context that ends after readPatience, or up to deadlineShared later.
func (d *readDeadline) now() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := time.Now(); d.ctx == nil || now.After(d.shared) {
		d.shared = now.Add(deadlineShared)
		d.ctx, d.end = context.WithDeadline(context.Background(), d.shared.Add(readPatience))
	}
	return d.ctx
}

// Shows returns nil if reads of every read model show at least the position shown before, and Read's error otherwise.
func (p *Projector) Shows(ctx context.Context) error {
	var models []readmodel.Model
	for _, progress := range p.models {
		models = append(models, progress.model)
	}
	_, err := p.Read(ctx, models, "select where false", nil, nil)
	return err
}

// statement is a query of read models that also selects their positions.
type statement struct {
	models   []readmodel.Model
	progress []*progress // of the models
	sql      string
}

// statement returns the statement of a query.
func (p *Projector) statement(models []readmodel.Model, query string) *statement {
	if known, ok := p.statements.Load(query); ok && slices.Equal(known.(*statement).models, models) {
		return known.(*statement)
	}
	s := &statement{models: models, progress: p.chosen(models)}
	s.sql = withPositions(s.progress, p.config.Identity, query)
	p.statements.Store(query, s)
	return s
}

// withPositions returns the query with additional first columns: the position of each model as commit and prepare (NULL
// if its live generation is not of this log), and whether there is a row. It selects one row if the query selects none.
func withPositions(models []*progress, log eventlog.Identity, query string) string {
	var columns, joins strings.Builder
	for i, p := range models {
		fmt.Fprintf(&columns, "c%d.commit_position, c%[1]d.prepare_position, ", i)
		fmt.Fprintf(&joins, ` left join (select commit_position, prepare_position from feed.checkpoints
			where live and name = '%s' and version = %d and log_id = '%s' and epoch = %d) c%d on true`,
			p.model.Name, p.model.Version, log.LogID, log.Epoch, i)
	}
	return "select " + columns.String() + "queried.* from (select) one" + joins.String() +
		" left join (select true as found, query.* from (" + query + ") query) queried on true"
}

// reading is a call of Read.
type reading struct {
	*statement
	known     []eventlog.Position // of each model
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

// once runs the query, and returns the positions of the models in the same snapshot. It calls row only if they are not
// behind.
//
// The deadline is set on the connection, because pgx' watching of a context causes a tenth of the allocations of a
// small read. The end of ctx is therefore noticed only after the answer.
func (r reading) once(ctx, deadline context.Context, db *pgxpool.Pool) (shown []eventlog.Position, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	conn, err := db.Acquire(deadline)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	until, _ := deadline.Deadline()
	socket := conn.Conn().PgConn().Conn()
	if err := socket.SetDeadline(until); err != nil {
		return nil, err
	}
	defer func() {
		if !conn.Conn().IsClosed() { // pgx closes it with a deadline of its own
			_ = socket.SetDeadline(time.Time{})
		}
	}()
	return r.on(conn.Conn())
}

// on runs the query on a connection until the connection's deadline.
func (r reading) on(conn *pgx.Conn) (shown []eventlog.Position, err error) {
	rows, err := conn.Query(context.Background(), r.sql, r.arguments...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := 2 * len(r.progress)
	rest := queried{rows, found + 1, plansOf(conn, r.sql)}
	for rows.Next() {
		if shown == nil {
			if shown, err = r.positions(rows); err != nil {
				return nil, err
			}
		}
		if r.behind(shown) || rows.RawValues()[found] == nil {
			break
		}
		if err := r.row(rest); err != nil {
			return nil, err
		}
	}
	rows.Close()
	return shown, rows.Err()
}

// positions scans the positions of a row, and records that they were shown.
func (r reading) positions(rows pgx.Rows) ([]eventlog.Position, error) {
	numbers := make([]pgtype.Int8, 2*len(r.progress))
	types, columns, values := rows.Conn().TypeMap(), rows.FieldDescriptions(), rows.RawValues()
	for i := range numbers {
		if err := types.Scan(columns[i].DataTypeOID, columns[i].Format, values[i], &numbers[i]); err != nil {
			return nil, err
		}
	}
	positions := make([]eventlog.Position, len(r.progress))
	for i, model := range r.progress {
		commit, prepare := numbers[2*i], numbers[2*i+1]
		positions[i] = nowhere
		if commit.Valid {
			positions[i] = eventlog.Position{Commit: uint64(commit.Int64), Prepare: uint64(prepare.Int64)}
			model.see(positions[i])
		}
	}
	return positions, nil
}

// queried is a row without its first columns.
type queried struct {
	pgx.CollectableRow
	skip int
	*plans
}

// FieldDescriptions implements pgx.CollectableRow.
func (q queried) FieldDescriptions() []pgconn.FieldDescription {
	return q.CollectableRow.FieldDescriptions()[q.skip:]
}

// Scan implements pgx.CollectableRow.
func (q queried) Scan(columns ...any) error {
	fields, values := q.FieldDescriptions(), q.RawValues()
	if len(columns) != len(values) {
		return fmt.Errorf("scanning a row of %d columns into %d values", len(values), len(columns))
	}
	for i, column := range columns {
		if err := q.plan(i, fields[i], column).Scan(values[i], column); err != nil {
			return pgx.ScanArgError{ColumnIndex: i, FieldName: fields[i].Name, Err: err}
		}
	}
	return nil
}

// Values implements pgx.CollectableRow.
func (q queried) Values() ([]any, error) {
	values, err := q.CollectableRow.Values()
	return values[min(q.skip, len(values)):], err
}

// RawValues implements pgx.CollectableRow.
func (q queried) RawValues() [][]byte { return q.CollectableRow.RawValues()[q.skip:] }

// plans caches the scan plans for the columns of a statement on a connection. pgx plans each query again, which takes
// longer than its scans.
type plans struct {
	types   *pgtype.Map // of the connection
	columns []plan
}

type plan struct {
	pgtype.ScanPlan
	into   reflect.Type
	column uint32 // its type
	format int16
}

// plansOf returns the plans of a statement. The connection keeps them, like the statement, and uses them for one query
// at a time.
func plansOf(conn *pgx.Conn, sql string) *plans {
	kept := conn.PgConn().CustomData()
	if known, ok := kept[sql].(*plans); ok {
		return known
	}
	made := &plans{types: conn.TypeMap()}
	kept[sql] = made
	return made
}

// plan returns the plan for scanning a column.
func (p *plans) plan(number int, field pgconn.FieldDescription, into any) pgtype.ScanPlan {
	for len(p.columns) <= number {
		p.columns = append(p.columns, plan{})
	}
	known := &p.columns[number]
	if t := reflect.TypeOf(into); known.into != t || known.column != field.DataTypeOID || known.format != field.Format {
		*known = plan{p.types.PlanScan(field.DataTypeOID, field.Format, into), t, field.DataTypeOID, field.Format}
	}
	return known.ScanPlan
}
