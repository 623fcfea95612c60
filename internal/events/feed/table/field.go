package table

import (
	"errors"
	"reflect"
)

// Field is a column outside of the key, of type V in the rows R.
type Field[R, V any] struct {
	Fields[R]
	of func(*R) *V
}

// FieldOf returns the column of the field that is selected: func(row *R) *V { return &row.Field }.
func FieldOf[R, V any](t Typed[R], field func(*R) *V) Field[R, V] {
	return Field[R, V]{t.Fields(find(t, field)), field}
}

// Set gives the column a value in the row with the key of the given one. A row that does not exist stays missing.
func (f Field[R, V]) Set(rows *Rows, key R, value V) {
	*f.of(&key) = value
	f.Fields.Set(rows, key)
}

// Number is a number column outside of the key, in the rows R.
type Number[R any] struct {
	Fields[R]
	of func(*R) *int64
}

// NumberOf returns the column of the field that is selected: func(row *R) *int64 { return &row.Field }.
func NumberOf[R any](t Typed[R], field func(*R) *int64) Number[R] {
	return Number[R]{t.Fields(find(t, field)), field}
}

// Add adds to the column in the row with the key of the given one. A row that does not exist stays missing.
func (n Number[R]) Add(rows *Rows, key R, delta int64) {
	*n.of(&key) = delta
	n.Fields.Add(rows, key)
}

// Sums is a table whose columns outside of the key are numbers that only grow by what is added.
type Sums[R any] struct{ Typed[R] }

// SumsOf describes the table of a name. Check returns what is wrong with it.
func SumsOf[R any](name string) Sums[R] { return Sums[R]{Of[R](name)} }

// Add adds the numbers of a row to those in the row with its key, or inserts it if there is none.
func (s Sums[R]) Add(rows *Rows, row R) { s.Sum(rows, row) }

func find[R, V any](t Typed[R], field func(*R) *V) string {
	row := new(R)
	selected := any(field(row))
	for i := range t.columns {
		f := reflect.ValueOf(row).Elem().Field(i)
		if f.CanInterface() && f.Addr().Interface() == selected && !t.columns[i].key {
			return t.columns[i].name
		}
	}
	t.fail(errors.New("what is selected is not a column outside of the key"))
	return ""
}
