package table

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
)

// everythingRow has a column of every type, nullable and not, SQL keywords as names, and a key of two columns.
type everythingRow struct {
	Group string          `col:"group,key"`
	Order int64           `col:"order,key"`
	Total int64           `col:"total"`
	Small *int32          `col:"small"`
	Text  *string         `col:"text"`
	Flag  bool            `col:"flag"`
	At    *time.Time      `col:"at"`
	Day   time.Time       `col:"day,date"`
	Doc   *map[string]int `col:"doc,json"`
	Raw   []byte          `col:"raw"`
}

func everything() Typed[everythingRow] {
	return Of[everythingRow]("everything").Index("by_day", "day", "total")
}

// changeable are the columns outside of the key, in their order.
var changeable = []string{"total", "small", "text", "flag", "at", "day", "doc", "raw"}

// stored returns the row as Postgres does.
func (r everythingRow) stored() []any {
	row := []any{r.Group, r.Order, r.Total, nil, nil, r.Flag, nil, r.Day, nil, r.Raw}
	if r.Small != nil {
		row[3] = int64(*r.Small)
	}
	if r.Text != nil {
		row[4] = *r.Text
	}
	if r.At != nil {
		row[6] = *r.At
	}
	if r.Doc != nil {
		row[8] = fmt.Sprintf(`{"n": %d}`, (*r.Doc)["n"])
	}
	return row
}

// operation is a call on Rows with its effect on a row.
type operation struct {
	text string
	on   func(r *Rows, t Typed[everythingRow])
	one  func(row []any) []any // the row is nil if it does not exist
	key  string
}

var operations = rapid.Custom(func(r *rapid.T) operation {
	group := rapid.SampledFrom([]string{"a", "b", ""}).Draw(r, "group")
	order := rapid.Int64Range(-1, 1).Draw(r, "order")
	row := anyRow(r, group, order)
	name := fmt.Sprint(group, " ", order)
	switch rapid.IntRange(0, 5).Draw(r, "kind") {
	case 0:
		return operation{
			text: fmt.Sprintf("put %v", row.stored()),
			on:   func(rows *Rows, t Typed[everythingRow]) { t.Put(rows, row) },
			one:  func([]any) []any { return row.stored() },
			key:  name,
		}
	case 1:
		return operation{
			text: "delete " + name,
			on:   func(rows *Rows, t Typed[everythingRow]) { t.Delete(rows, row) },
			one:  func([]any) []any { return nil },
			key:  name,
		}
	case 2, 3:
		i := rapid.IntRange(0, 1).Draw(r, "number column")
		delta := rapid.Int64Range(-5, 5).Draw(r, "delta")
		return operation{
			text: fmt.Sprintf("add %s number %d: %d", name, i, delta),
			on: func(rows *Rows, t Typed[everythingRow]) {
				t.Fields(changeable[i]).Add(rows, everythingRow{Group: group, Order: order, Total: delta, Small: new(int32(delta))})
			},
			one: func(before []any) []any { return amended(before, 2+i, func(v any) any { return plus(v, delta) }) },
			key: name,
		}
	default:
		i := rapid.IntRange(0, 7).Draw(r, "column")
		value := row.stored()[2+i]
		return operation{
			text: fmt.Sprintf("set %s column %d: %v", name, i, value),
			on:   func(rows *Rows, t Typed[everythingRow]) { t.Fields(changeable[i]).Set(rows, row) },
			one:  func(before []any) []any { return amended(before, 2+i, func(any) any { return value }) },
			key:  name,
		}
	}
})

func amended(row []any, i int, to func(any) any) []any {
	if row == nil {
		return nil
	}
	row = append([]any{}, row...)
	row[i] = to(row[i])
	return row
}

func plus(v any, delta int64) any {
	if v == nil {
		return nil
	}
	return v.(int64) + delta
}

// anyRow draws the columns that are not in the key.
func anyRow(r *rapid.T, group string, order int64) everythingRow {
	at := time.Unix(rapid.Int64Range(-1e9, 1e10).Draw(r, "at"), 123_456_000).UTC()
	doc := map[string]int{"n": rapid.IntRange(0, 9).Draw(r, "doc")}
	return everythingRow{
		Group: group, Order: order,
		Total: rapid.Int64Range(-1e15, 1e15).Draw(r, "total"),
		Small: orNull(r, "small", rapid.Int32Range(-1e9, 1e9).Draw(r, "small")),
		Text:  orNull(r, "text", rapid.StringMatching(`[a-zäß"'\\{},]{0,8}`).Draw(r, "text")),
		Flag:  rapid.Bool().Draw(r, "flag"),
		At:    orNull(r, "at", at),
		Day:   at.Truncate(24 * time.Hour),
		Doc:   orNull(r, "doc", doc),
		Raw:   rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(r, "raw"),
	}
}

func orNull[T any](r *rapid.T, name string, value T) *T {
	if rapid.Bool().Draw(r, name+" is null") {
		return nil
	}
	return &value
}

func TestCoalescedPagesEqualTheOperationsOneByOne(t *testing.T) {
	table := everything()
	pool := tables(t, table.Table)
	writer := NewWriter(table.Table, "rows")
	rapid.Check(t, func(r *rapid.T) {
		// given an empty table
		_, err := pool.Exec(t.Context(), "truncate rows.everything")
		require.NoError(r, err)
		model := map[string][]any{}

		// when operations are written in pages
		pages := rapid.SliceOfN(rapid.SliceOfN(operations, 0, 12), 1, 5).Draw(r, "pages")
		for _, page := range pages {
			rows := NewRows([]*Table{table.Table})
			for _, op := range page {
				r.Log(op.text)
				op.on(rows, table)
				if row := op.one(model[op.key]); row != nil {
					model[op.key] = row
				} else {
					delete(model, op.key)
				}
			}
			require.NoError(r, rows.err)
			flush(r, t, pool, writer, rows)
		}

		// then the table equals the result of single operations
		require.Equal(r, model, stored(r, t, pool))
	})
}

// tables creates tables in the schema rows.
func tables(t testing.TB, all ...*Table) *pgxpool.Pool {
	t.Helper()
	pool := pgtest.New(t)
	statements := []string{"create schema rows"}
	for _, table := range all {
		require.NoError(t, table.Check())
		statements = append(statements, table.DDL("rows")...)
	}
	for _, statement := range statements {
		_, err := pool.Exec(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	return pool
}

func flush(r require.TestingT, t testing.TB, pool *pgxpool.Pool, w *Writer, rows *Rows) {
	batch := &pgx.Batch{}
	w.Queue(batch, rows)
	require.LessOrEqual(r, batch.Len(), 3, "statements of a page")
	require.NoError(r, pool.SendBatch(t.Context(), batch).Close())
}

func stored(r require.TestingT, t testing.TB, pool *pgxpool.Pool) map[string][]any {
	rows, err := pool.Query(t.Context(), `
		select "group", "order", total, small::bigint, text, flag, at, day, doc::text, raw from rows.everything`)
	require.NoError(r, err)
	all := map[string][]any{}
	for rows.Next() {
		row, err := rows.Values()
		require.NoError(r, err)
		if at, ok := row[6].(time.Time); ok {
			row[6] = at.UTC()
		}
		all[fmt.Sprint(row[0], " ", row[1])] = row
	}
	require.NoError(r, rows.Err())
	return all
}

type name string

func TestTypesOfColumns(t *testing.T) {
	at := time.Date(2026, 11, 21, 1, 2, 3, 456_789_123, time.FixedZone("", 3600))
	id, given := uuid.New(), "x"
	type row struct {
		Key      string          `col:"key,key"`
		Text     string          `col:"text"`
		Name     name            `col:"name"`
		Given    *string         `col:"given"`
		Missing  *string         `col:"missing"`
		ID       uuid.UUID       `col:"id"`
		Int      int             `col:"int"`
		Unsigned uint8           `col:"unsigned"`
		Integer  int32           `col:"integer"`
		Double   float64         `col:"double"`
		Bool     bool            `col:"bool"`
		At       time.Time       `col:"at"`
		Day      time.Time       `col:"day,date"`
		Raw      json.RawMessage `col:"raw,json"`
		List     []string        `col:"list,json"`
		NoList   []string        `col:"no_list,json,null"`
		Bytes    []byte          `col:"bytes"`
		NoBytes  []byte          `col:"no_bytes,null"`
	}
	table := Of[row]("rows")
	require.NoError(t, table.Check())
	rows := NewRows([]*Table{table.Table})
	table.Put(rows, row{
		Key: "k", Text: "x", Name: "x", Given: &given, ID: id, Int: 7, Unsigned: 7, Integer: -7, Double: 0.5, Bool: true,
		At: at, Day: at,
		Raw: json.RawMessage(`{}`), List: []string{"x"},
	})
	require.NoError(t, rows.err)
	require.Equal(t, []any{
		"k", "x", "x", "x", nil, id.String(), int64(7), int64(7), int64(-7), 0.5, true,
		time.Date(2026, 11, 21, 0, 2, 3, 456_789_000, time.UTC), time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC),
		"{}", `["x"]`, nil, []byte{}, nil,
	}, rows.ordered(table.Table)[0].values)
}

func TestMistakesInRowsAreReported(t *testing.T) {
	type row struct {
		ID       string          `col:"id,key"`
		Total    int64           `col:"total"`
		Unsigned uint64          `col:"unsigned"`
		Doc      json.RawMessage `col:"doc,json"`
	}
	table, other := Of[row]("rows"), Of[row]("rows")
	total, doc := table.Fields("total"), table.Fields("doc")
	require.NoError(t, table.Check())
	valid := row{ID: "a", Doc: json.RawMessage("{}")}
	for name, mistake := range map[string]func(*Rows){
		"another one's table": func(r *Rows) { other.Put(r, valid) },
		"another one's key":   func(r *Rows) { other.Delete(r, valid) },
		"too large a number":  func(r *Rows) { table.Put(r, row{ID: "a", Unsigned: 1 << 63, Doc: valid.Doc}) },
		"malformed JSON":      func(r *Rows) { table.Put(r, row{ID: "a", Doc: json.RawMessage("{secret")}) },
		"an overflow": func(r *Rows) {
			total.Add(r, row{ID: "a", Total: 1 << 62})
			total.Add(r, row{ID: "a", Total: 1 << 62})
		},
		"a sum of JSON": func(r *Rows) { doc.Add(r, valid) },
	} {
		t.Run(name, func(t *testing.T) {
			rows := NewRows([]*Table{table.Table})
			mistake(rows)
			require.Error(t, rows.err)
			require.NotContains(t, rows.err.Error(), "secret")
		})
	}
}

func TestMistakesInDescriptions(t *testing.T) {
	type row struct {
		ID    string `col:"id,key"`
		Total int64  `col:"total"`
	}
	require.NoError(t, Of[row]("rows").Check())
	for want, table := range map[string]*Table{
		"a row is a struct": Of[string]("rows").Table,
		"no key column": Of[struct {
			Total int64 `col:"total"`
		}]("rows").Table,
		"the first ones": Of[struct {
			Total int64  `col:"total"`
			ID    string `col:"id,key"`
		}]("rows").Table,
		"two columns of one name": Of[struct {
			ID    string `col:"id,key"`
			Total int64  `col:"id"`
		}]("rows").Table,
		"a key and may be NULL": Of[struct {
			ID *string `col:"id,key"`
		}]("rows").Table,
		"a jsonb cannot be a key": Of[struct {
			ID string `col:"id,key,json"`
		}]("rows").Table,
		`column ""`: Of[struct {
			ID string `col:",key"`
		}]("rows").Table,
		"a double precision cannot be a key": Of[struct {
			Speed float64 `col:"speed,key"`
		}]("rows").Table,
		"no column for a float32": Of[struct {
			ID    string  `col:"id,key"`
			Speed float32 `col:"speed"`
		}]("rows").Table,
		"after one of views alone": Of[struct {
			ID    string `col:"id,key"`
			Twice int64  `col:"twice" sql:"total * 2"`
			Total int64  `col:"total"`
		}]("rows").Table,
		"column twice of views has no expression": Of[struct {
			ID    string `col:"id,key"`
			Twice int64  `col:"twice" sql:""`
		}]("rows").Table,
		`"total" is not a column of views alone`: Of[row]("rows").Expression("total", "1").Table,
		"option \"primary\"": Of[struct {
			ID string `col:"id,primary"`
		}]("rows").Table,
		"is no date": Of[struct {
			ID string `col:"id,key,date"`
		}]("rows").Table,
		"not exported": Of[struct {
			id string `col:"id,key"`
		}]("rows").Table,
		`"id" is not a column outside`:   ofFields[row]("total", "id"),
		`"name" is not a column outside`: ofFields[row]("name"),
		"unknown column":                 Of[row]("rows").Index("by_name", "name").Table,
		"a name is":                      Of[row]("Rows").Table,
	} {
		require.ErrorContains(t, table.Check(), want)
	}
}

func ofFields[R any](names ...string) *Table {
	t := Of[R]("rows")
	t.Fields(names...)
	return t.Table
}
