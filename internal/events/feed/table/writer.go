package table

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Writer holds the write statements of a table in one generation's schema.
type Writer struct {
	table   *Table
	name    string // qualified
	put     string
	sum     string
	delete  string
	updates map[uint64]string // by the columns that they change
	ranked  rankedWriter
}

// NewWriter returns a Writer for a table in a schema.
func NewWriter(t *Table, schema string) *Writer {
	w := &Writer{table: t, name: quote(schema, t.name), updates: map[uint64]string{}}
	w.put = w.insertStatement("excluded.%s")
	w.sum = w.insertStatement("t.%[1]s + excluded.%[1]s")
	w.delete = fmt.Sprintf("delete from %s as t using unnest(%s) as u(%s) where %s",
		w.name, w.arrays(t.keys), strings.Join(quoted(t.keyNames()...), ", "), w.sameKey())
	if len(t.ranked) > 0 {
		w.ranked = newRankedWriter(w, schema)
	}
	return w
}

// Queue adds the statements of a page's rows: at most one each for all deleted, updated and put rows, or two with
// rankings, because the former counts of these rows are subtracted.
func (w *Writer) Queue(batch *pgx.Batch, rows *Rows) {
	counted := w.counted(rows)
	w.count(batch, counted, -1)
	w.queue(batch, rows)
	w.count(batch, counted, 1)
}

// counted returns the changes of rows that may affect the counts of rankings.
func (w *Writer) counted(rows *Rows) (counted []*change) {
	for _, c := range rows.ordered(w.table) {
		changes := func(r Ranking) bool { return c.kind != patchedRow || r.reads(w.table, c.touched()) }
		if slices.ContainsFunc(w.ranked.rankings, changes) {
			counted = append(counted, c)
		}
	}
	return counted
}

// count adds a statement that counts the rows, with their values at that point of the batch.
func (w *Writer) count(batch *pgx.Batch, rows []*change, times int64) {
	if len(rows) > 0 {
		batch.Queue(w.ranked.count, append(w.keyArguments(rows), times)...)
	}
}

// queue adds the statements of the table itself.
func (w *Writer) queue(batch *pgx.Batch, rows *Rows) {
	var deleted, patched, put, summed []*change
	var mask uint64
	for _, c := range rows.ordered(w.table) {
		switch {
		case c.kind == deletedRow:
			deleted = append(deleted, c)
		case c.kind == putRow:
			put = append(put, c)
		case c.kind == summedRow:
			summed = append(summed, c)
		case c.touched() != 0:
			patched = append(patched, c)
			mask |= c.touched()
		}
	}
	if len(deleted) > 0 {
		batch.Queue(w.delete, w.keyArguments(deleted)...)
	}
	if len(patched) > 0 {
		batch.Queue(w.update(mask), w.patchArguments(patched, columnsOf(mask))...)
	}
	if len(put) > 0 {
		batch.Queue(w.put, w.rowArguments(put)...)
	}
	if len(summed) > 0 {
		batch.Queue(w.sum, w.rowArguments(summed)...)
	}
}

// insertStatement returns a statement that inserts rows. In an existing row, each column outside of the key is set to
// the given expression of its name.
func (w *Writer) insertStatement(existing string) string {
	t := w.table
	all := make([]int, len(t.columns))
	names := make([]string, len(t.columns))
	values := make([]string, len(t.columns))
	var replaced []string
	for i, c := range t.columns {
		all[i], names[i], values[i] = i, quote(c.name), c.unnested()
		if !c.key {
			replaced = append(replaced, quote(c.name)+" = "+fmt.Sprintf(existing, quote(c.name)))
		}
	}
	conflict := "nothing"
	if len(replaced) > 0 {
		conflict = "update set " + strings.Join(replaced, ", ")
	}
	return fmt.Sprintf("insert into %s as t (%s) select %s from unnest(%s) as u(%s) on conflict (%s) do %s",
		w.name, strings.Join(names, ", "), strings.Join(values, ", "), w.arrays(all), strings.Join(names, ", "),
		strings.Join(quoted(t.keyNames()...), ", "), conflict)
}

// update returns the statement that sets or adds to the columns of a mask, by the patch kinds of each row.
func (w *Writer) update(mask uint64) string {
	if statement, ok := w.updates[mask]; ok {
		return statement
	}
	columns := columnsOf(mask)
	names := quoted(w.table.keyNames()...)
	arrays := w.arrays(w.table.keys)
	var assignments []string
	for _, i := range columns {
		c := w.table.columns[i]
		name, kind := quote(c.name), fmt.Sprintf("_%d", i) // no column's name starts like kind
		names = append(names, name, kind)
		arrays += fmt.Sprintf(", $%d::%s[], $%d::smallint[]", len(names)-1, c.kind.parameter, len(names))
		added := ""
		if c.number() {
			added = fmt.Sprintf(" when %d then t.%s + u.%s", addColumn, name, name)
		}
		assignments = append(assignments, fmt.Sprintf("%s = case u.%s when %d then %s%s else t.%s end",
			name, kind, setColumn, c.unnested(), added, name))
	}
	statement := fmt.Sprintf("update %s as t set %s from unnest(%s) as u(%s) where %s",
		w.name, strings.Join(assignments, ", "), arrays, strings.Join(names, ", "), w.sameKey())
	w.updates[mask] = statement
	return statement
}

// arrays returns the parameters $1, $2, … of the columns.
func (w *Writer) arrays(columns []int) string {
	parameters := make([]string, len(columns))
	for n, i := range columns {
		parameters[n] = fmt.Sprintf("$%d::%s[]", n+1, w.table.columns[i].kind.parameter)
	}
	return strings.Join(parameters, ", ")
}

// unnested returns the column's value in the unnested row, in the column's type.
func (c column) unnested() string {
	if c.kind.column != c.kind.parameter {
		return fmt.Sprintf("u.%s::%s", quote(c.name), c.kind.column)
	}
	return "u." + quote(c.name)
}

func (w *Writer) sameKey() string {
	conditions := make([]string, len(w.table.keys))
	for i, name := range quoted(w.table.keyNames()...) {
		conditions[i] = fmt.Sprintf("t.%s = u.%s", name, name)
	}
	return strings.Join(conditions, " and ")
}

func (w *Writer) keyArguments(changes []*change) []any {
	arguments := make([]any, 0, len(w.table.keys))
	for n, i := range w.table.keys {
		arguments = append(arguments, w.table.columns[i].array(changes, func(c *change) any { return c.key[n] }))
	}
	return arguments
}

func (w *Writer) rowArguments(changes []*change) []any {
	arguments := make([]any, 0, len(w.table.columns))
	for i, column := range w.table.columns {
		arguments = append(arguments, column.array(changes, func(c *change) any { return c.values[i] }))
	}
	return arguments
}

func (w *Writer) patchArguments(changes []*change, columns []int) []any {
	arguments := w.keyArguments(changes)
	for _, i := range columns {
		column := w.table.columns[i]
		column.null = true // a row that keeps this column has no operand for it
		kinds := make([]int16, len(changes))
		for n, c := range changes {
			kinds[n] = int16(c.patches[i])
		}
		arguments = append(arguments, column.array(changes, func(c *change) any { return c.values[i] }), kinds)
	}
	return arguments
}

// array returns the column's parameter: a value for each change.
func (c column) array(changes []*change, value func(*change) any) any {
	switch c.kind {
	case text, jsonb:
		return arrayOf[string](changes, value, c.null)
	case bigint, integer:
		return arrayOf[int64](changes, value, c.null)
	case double:
		return arrayOf[float64](changes, value, c.null)
	case boolean:
		return arrayOf[bool](changes, value, c.null)
	case timestamptz, date:
		return arrayOf[time.Time](changes, value, c.null)
	default: // Bytea, where a nil slice is NULL
		return arrayOf[[]byte](changes, value, false)
	}
}

func arrayOf[T any](changes []*change, value func(*change) any, null bool) any {
	values := make([]T, len(changes))
	if !null {
		for i, c := range changes {
			values[i], _ = value(c).(T)
		}
		return values
	}
	pointers := make(pgtype.FlatArray[*T], len(changes))
	for i, c := range changes {
		if v, given := value(c).(T); given {
			values[i] = v
			pointers[i] = &values[i]
		}
	}
	return pointers
}
