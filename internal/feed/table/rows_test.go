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

	"github.com/recital-tts/recital/internal/postgres/pgtest"
)

// everything has a column of every type, nullable and not, names that are words of SQL, and a key of two columns.
func everything() *Table {
	return New("everything",
		Column{Name: "group", Type: Text, Key: true},
		Column{Name: "order", Type: Bigint, Key: true},
		Column{Name: "total", Type: Bigint},
		Column{Name: "small", Type: Integer, Null: true},
		Column{Name: "text", Type: Text, Null: true},
		Column{Name: "flag", Type: Bool},
		Column{Name: "at", Type: Timestamptz, Null: true},
		Column{Name: "day", Type: Date},
		Column{Name: "doc", Type: Jsonb, Null: true},
		Column{Name: "raw", Type: Bytea},
	).Index("by_day", "day", "total")
}

// operation is one call on Rows, and what it does to a row by itself.
type operation struct {
	text string
	on   func(r *Rows, t *Table)
	one  func(row []any) []any // of a row that exists, nil for one that does not
	key  string
}

var operations = rapid.Custom(func(r *rapid.T) operation {
	group := rapid.SampledFrom([]string{"a", "b", ""}).Draw(r, "group")
	order := rapid.Int64Range(-1, 1).Draw(r, "order")
	key := Key{group, order}
	name := fmt.Sprint(key)
	switch rapid.IntRange(0, 5).Draw(r, "kind") {
	case 0:
		values := append([]any{group, order}, rowValues(r)...)
		return operation{
			text: fmt.Sprintf("put %v", values),
			on:   func(rows *Rows, t *Table) { rows.Put(t, values...) },
			one:  func([]any) []any { return append([]any{}, values...) },
			key:  name,
		}
	case 1:
		return operation{
			text: fmt.Sprintf("delete %v", key),
			on:   func(rows *Rows, t *Table) { rows.Delete(t, key) },
			one:  func([]any) []any { return nil },
			key:  name,
		}
	case 2, 3:
		i := rapid.SampledFrom([]int{2, 3}).Draw(r, "number column")
		delta := rapid.Int64Range(-5, 5).Draw(r, "delta")
		return operation{
			text: fmt.Sprintf("add %v column %d: %d", key, i, delta),
			on:   func(rows *Rows, t *Table) { rows.Add(t, key, t.columns[i].Name, delta) },
			one:  func(row []any) []any { return amended(row, i, func(v any) any { return plus(v, delta) }) },
			key:  name,
		}
	default:
		i := rapid.IntRange(2, 9).Draw(r, "column")
		value := rowValues(r)[i-2]
		return operation{
			text: fmt.Sprintf("set %v column %d: %v", key, i, value),
			on:   func(rows *Rows, t *Table) { rows.Set(t, key, t.columns[i].Name, value) },
			one:  func(row []any) []any { return amended(row, i, func(any) any { return value }) },
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

// rowValues draws the columns that are not in the key, as Postgres gives them back.
func rowValues(r *rapid.T) []any {
	null := func(name string, v any) any {
		if rapid.Bool().Draw(r, name+" is null") {
			return nil
		}
		return v
	}
	at := time.Unix(rapid.Int64Range(-1e9, 1e10).Draw(r, "at"), 123_456_000).UTC()
	return []any{
		rapid.Int64Range(-1e15, 1e15).Draw(r, "total"),
		null("small", rapid.Int64Range(-1e9, 1e9).Draw(r, "small")),
		null("text", rapid.StringMatching(`[a-zäß"'\\{},]{0,8}`).Draw(r, "text")),
		rapid.Bool().Draw(r, "flag"),
		null("at", at),
		at.Truncate(24 * time.Hour),
		null("doc", fmt.Sprintf(`{"n": %d}`, rapid.IntRange(0, 9).Draw(r, "doc"))),
		rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(r, "raw"),
	}
}

func TestCoalescedPagesEqualTheOperationsOneByOne(t *testing.T) {
	table := everything()
	pool := tables(t, table)
	writer := NewWriter(table, "rows")
	rapid.Check(t, func(r *rapid.T) {
		// given an empty table
		_, err := pool.Exec(t.Context(), "truncate rows.everything")
		require.NoError(r, err)
		model := map[string][]any{}

		// when operations come in pages
		pages := rapid.SliceOfN(rapid.SliceOfN(operations, 0, 12), 1, 5).Draw(r, "pages")
		for _, page := range pages {
			rows := NewRows([]*Table{table})
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

		// then the table holds what they give one by one
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
		all[fmt.Sprint(Key{row[0], row[1]})] = row
	}
	require.NoError(r, rows.Err())
	return all
}

func TestAUniqueValueMayPassFromRowToRow(t *testing.T) {
	// given two rows with a unique value each
	table := New("unique_rows",
		Column{Name: "id", Type: Text, Key: true},
		Column{Name: "email", Type: Text},
	).Unique("one_email", "email")
	pool := tables(t, table)
	writer := NewWriter(table, "rows")
	rows := NewRows([]*Table{table})
	rows.Put(table, "1", "a@x")
	rows.Put(table, "2", "b@x")
	flush(t, t, pool, writer, rows)

	// when they exchange them in one page
	rows = NewRows([]*Table{table})
	rows.Set(table, Key{"1"}, "email", "b@x")
	rows.Put(table, "2", "a@x")
	flush(t, t, pool, writer, rows)

	// then both are kept
	var email string
	require.NoError(t, pool.QueryRow(t.Context(), "select email from rows.unique_rows where id = '1'").Scan(&email))
	require.Equal(t, "b@x", email)
}

type kind string

func TestWhatColumnsTake(t *testing.T) {
	at := time.Date(2026, 11, 21, 1, 2, 3, 456_789_123, time.FixedZone("", 3600))
	id := uuid.New()
	name := "x"
	tests := []struct {
		column Column
		given  any
		want   any
		err    string
	}{
		{Column{Type: Text}, "x", "x", ""},
		{Column{Type: Text}, kind("x"), "x", ""},
		{Column{Type: Text}, &name, "x", ""},
		{Column{Type: Text}, id, id.String(), ""},
		{Column{Type: Text}, 7, nil, "no text"},
		{Column{Type: Text}, nil, nil, "must have a value"},
		{Column{Type: Text, Null: true}, (*string)(nil), nil, ""},
		{Column{Type: Bigint}, uint8(7), int64(7), ""},
		{Column{Type: Bigint}, uint64(1 << 63), nil, "no integer of 64 bits"},
		{Column{Type: Integer}, int64(1 << 31), nil, "out of range"},
		{Column{Type: Bool}, true, true, ""},
		{Column{Type: Bool}, 1, nil, "no bool"},
		{Column{Type: Timestamptz}, at, time.Date(2026, 11, 21, 0, 2, 3, 456_789_000, time.UTC), ""},
		{Column{Type: Date}, at, time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC), ""},
		{Column{Type: Date}, "2026-11-21", nil, "no time"},
		{Column{Type: Jsonb}, json.RawMessage(`{}`), "{}", ""},
		{Column{Type: Jsonb}, []string{"x"}, `["x"]`, ""},
		{Column{Type: Jsonb}, `{`, nil, "malformed"},
		{Column{Type: Jsonb, Null: true}, []string(nil), nil, ""},
		{Column{Type: Bytea}, []byte(nil), []byte{}, ""},
		{Column{Type: Bytea, Null: true}, []byte(nil), nil, ""},
		{Column{Type: Bytea}, "x", nil, "no byte slice"},
	}
	for _, test := range tests {
		got, err := test.column.value(test.given)
		if test.err != "" {
			require.ErrorContains(t, err, test.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, test.want, got)
	}
}

func TestMistakesInRowsAreRemembered(t *testing.T) {
	table, other := everything(), everything()
	key := Key{"a", 1}
	mistakes := map[string]func(*Rows){
		"no table":              func(r *Rows) { r.Put(nil) },
		"another one's table":   func(r *Rows) { r.Delete(other, key) },
		"too few values":        func(r *Rows) { r.Put(table, "a") },
		"too short a key":       func(r *Rows) { r.Delete(table, Key{"a"}) },
		"a key of wrong type":   func(r *Rows) { r.Delete(table, Key{1, 1}) },
		"an unknown column":     func(r *Rows) { r.Set(table, key, "nothing", 1) },
		"a column of the key":   func(r *Rows) { r.Set(table, key, "order", 1) },
		"an addition to a text": func(r *Rows) { r.Add(table, key, "text", 1) },
		"an overflow": func(r *Rows) {
			r.Add(table, key, "total", 1<<62)
			r.Add(table, key, "total", 1<<62)
		},
	}
	for name, mistake := range mistakes {
		t.Run(name, func(t *testing.T) {
			rows := NewRows([]*Table{table})
			mistake(rows)
			require.Error(t, rows.err)
		})
	}
}
