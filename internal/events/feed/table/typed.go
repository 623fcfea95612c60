package table

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Typed is a table with rows of the struct R. Each field of R is a column, in the order of the fields, and names it in
// its tag: `col:"account_id,key"`. The options after the name are
//
//	key   the column is part of the primary key; the key columns come first
//	null  a nil slice or map is NULL
//	date  the column holds the year, month and day of a time.Time
//	json  the column holds the value as JSON
//
// The type of a field determines that of its column: strings and encoding.TextMarshaler are text, integers bigint (int32:
// integer), bool boolean, time.Time timestamptz, cut to microseconds, and []byte bytea. The column of a pointer may be
// NULL.
type Typed[R any] struct{ *Table }

// Of describes the table of a name. Check returns what is wrong with it.
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

// Index adds an index over the columns. It returns the table.
func (t Typed[R]) Index(name string, columns ...string) Typed[R] {
	t.indexes = append(t.indexes, index{name: name, columns: columns})
	return t
}

// Unique adds a unique constraint over the columns, which holds at the end of every page. It returns the table.
func (t Typed[R]) Unique(name string, columns ...string) Typed[R] {
	t.indexes = append(t.indexes, index{name: name, columns: columns, unique: true})
	return t
}

// Put inserts a row, or replaces the one with its key.
func (t Typed[R]) Put(rows *Rows, row R) {
	if changes, ok := hold(rows, t.Table, row); ok {
		rows.put(changes)
	}
}

// Delete removes the row with the key of the given one, whose other fields are ignored.
func (t Typed[R]) Delete(rows *Rows, key R) {
	if changes, ok := hold(rows, t.Table, key); ok {
		rows.delete(changes)
	}
}

// hold puts a row where reflection reaches it without an allocation for each row.
func hold[R any](rows *Rows, t *Table, row R) (*tableChanges, bool) {
	changes, ok := rows.of(t)
	if ok {
		*changes.held.Addr().Interface().(*R) = row
	}
	return changes, ok
}

// Field is a column outside of the key, of type V in the rows R.
type Field[R, V any] struct {
	table  *Table
	column int
}

// FieldOf returns the column of the field that is selected: func(row *R) *V { return &row.Field }.
func FieldOf[R, V any](t Typed[R], field func(*R) *V) Field[R, V] {
	return Field[R, V]{t.Table, find(t, field)}
}

// Set gives the column a value in the row with the key of the given one. A row that does not exist stays missing.
func (f Field[R, V]) Set(rows *Rows, key R, value V) {
	if changes, ok := hold(rows, f.table, key); ok {
		rows.set(changes, f.column, reflect.ValueOf(&value).Elem())
	}
}

// Number is a number column outside of the key, in the rows R.
type Number[R any] struct {
	table  *Table
	column int
}

// NumberOf returns the column of the field that is selected: func(row *R) *int64 { return &row.Field }.
func NumberOf[R any, V int64 | int32 | *int64 | *int32](t Typed[R], field func(*R) *V) Number[R] {
	return Number[R]{t.Table, find(t, field)}
}

// Add adds to the column in the row with the key of the given one. A row that does not exist stays missing, a NULL stays
// NULL.
func (n Number[R]) Add(rows *Rows, key R, delta int64) {
	if changes, ok := hold(rows, n.table, key); ok {
		rows.add(changes, n.column, delta)
	}
}

// find returns the index of the column that a function selects.
func find[R, V any](t Typed[R], field func(*R) *V) int {
	row := new(R)
	selected := any(field(row))
	for i := range t.columns {
		f := reflect.ValueOf(row).Elem().Field(i)
		if f.CanInterface() && f.Addr().Interface() == selected && !t.columns[i].key {
			return i
		}
	}
	t.fail(errors.New("what is selected is not a column outside of the key"))
	return 0
}
