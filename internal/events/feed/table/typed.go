package table

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Typed is a table of rows of the struct R. Each field of R is a column, in the order of the fields, and names it in
// its tag: `col:"account_id,key"`. The options after the name are
//
//	key   the column is part of the primary key; the key columns come first
//	null  a nil slice or map is NULL
//	date  the column holds the year, month and day of a time.Time
//	json  the column holds the value as JSON
//
// The type of a field determines the type of its column: strings and encoding.TextMarshaler are text, integers bigint
// (int32: integer), floats double precision, bool boolean, time.Time timestamptz, cut to microseconds, and []byte
// bytea. The column of a pointer may be NULL.
//
// A field with an expression, `col:"starred" sql:"exists (…)"`, is a column only of views. These fields come last. A
// long expression is set by Expression instead, and the tag is `sql:""`.
type Typed[R any] struct{ *Table }

// Of returns the description of a table. Check returns its errors.
func Of[R any](name string) Typed[R] {
	row := reflect.TypeFor[R]()
	t := &Table{name: name, byName: map[string]int{}, row: row}
	if row.Kind() != reflect.Struct {
		t.fail(fmt.Errorf("a row is a struct, not a %s", row))
		return Typed[R]{t}
	}
	for field := range row.Fields() {
		c, err := columnOf(field)
		if err != nil {
			t.fail(fmt.Errorf("field %s: %w", field.Name, err))
		}
		if expression, computed := field.Tag.Lookup("sql"); computed {
			t.computed = append(t.computed, Column{c.name, c.catalogueType(), expression})
			continue
		}
		if len(t.computed) > 0 {
			t.fail(fmt.Errorf("field %s: a column of the table comes after one of views alone", field.Name))
		}
		t.add(c)
	}
	return Typed[R]{t}
}

func columnOf(field reflect.StructField) (column, error) {
	name, options, _ := strings.Cut(field.Tag.Get("col"), ",")
	c := column{name: name}
	format := ""
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "key":
			c.key = true
		case "null":
			c.null = true
		case "date", "json":
			format = option
		case "":
		default:
			return c, fmt.Errorf("the option %q is unknown", option)
		}
	}
	if !field.IsExported() {
		return c, errors.New("it is not exported")
	}
	return c, c.typed(field.Type, format)
}

// Expression sets the expression of a column that only views have. It returns the table.
func (t Typed[R]) Expression(column, sql string) Typed[R] {
	i := slices.IndexFunc(t.computed, func(c Column) bool { return c.Name == column })
	if i < 0 {
		t.fail(fmt.Errorf("%q is not a column of views alone", column))
		return t
	}
	t.computed[i].Expression = sql
	return t
}

// Index adds an index over the columns. It returns the table.
func (t Typed[R]) Index(name string, columns ...string) Typed[R] {
	t.indexes = append(t.indexes, index{name: name, columns: columns})
	return t
}

// Put inserts a row, or replaces the one with its key.
func (t Typed[R]) Put(rows *Rows, row R) { hold(rows, t.Table, row, (*Rows).put) }

// Delete removes the row with the given row's key, and ignores its other fields.
func (t Typed[R]) Delete(rows *Rows, key R) { hold(rows, t.Table, key, (*Rows).delete) }

// Sum adds the numbers of a row to those in the row with its key, or inserts it if there is none.
func (t Typed[R]) Sum(rows *Rows, row R) { hold(rows, t.Table, row, (*Rows).sum) }

// hold stores a row for reflection, without an allocation for each row, and passes it on.
func hold[R any](rows *Rows, t *Table, row R, do func(*Rows, *tableChanges)) {
	if changes, ok := rows.of(t); ok {
		*changes.held.Addr().Interface().(*R) = row
		do(rows, changes)
	}
}

// Fields are columns outside of the key that change together in a row. A row that does not exist stays missing.
type Fields[R any] struct {
	table   *Table
	columns []int
}

// Fields returns the columns with these names.
func (t Typed[R]) Fields(names ...string) Fields[R] {
	f := Fields[R]{table: t.Table}
	for _, name := range names {
		i, known := t.byName[name]
		if !known || t.columns[i].key {
			t.fail(fmt.Errorf("%q is not a column outside of the key", name))
		}
		f.columns = append(f.columns, i)
	}
	return f
}

// Set sets the columns, in the row with the given row's key, to the given row's values.
func (f Fields[R]) Set(rows *Rows, row R) {
	hold(rows, f.table, row, func(rows *Rows, changes *tableChanges) { rows.set(changes, f.columns) })
}

// Add adds the given row's numbers to the columns, in the row with its key. NULL stays NULL.
func (f Fields[R]) Add(rows *Rows, row R) {
	hold(rows, f.table, row, func(rows *Rows, changes *tableChanges) { rows.add(changes, f.columns) })
}
