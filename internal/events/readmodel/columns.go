package readmodel

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Columns returns a select list of the columns that the fields of the struct R name in their tags, such as
// `col:"plan"`, in the order of the fields, which is that of pgx.RowToStructByPos. Each column is qualified by the
// alias of the view, unless that is empty. So a value cannot reach another field than the one that names its column.
//
// Columns panics when the view has no such column, or one of another type: lists are made when a program starts, as
// regular expressions are.
func Columns[R any](view View, alias string) string {
	if alias != "" {
		alias += "."
	}
	var list []string
	for field := range reflect.TypeFor[R]().Fields() {
		name := field.Tag.Get("col")
		column, ok := view.Column(name)
		if !ok {
			panic(fmt.Sprintf("readmodel: field %s of %s: the view %s has no column %q", field.Name, reflect.TypeFor[R](), view.SQL(), name))
		}
		if !column.fits(field.Type) {
			panic(fmt.Sprintf("readmodel: field %s of %s: a %s does not hold the column %s %s of the view %s",
				field.Name, reflect.TypeFor[R](), field.Type, column.Name, column.Type, view.SQL()))
		}
		list = append(list, alias+column.Name)
	}
	return strings.Join(list, ", ")
}

// fits reports whether a Go type can hold the column's values.
func (c Column) fits(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch c.Type {
	case Text:
		return t.Kind() == reflect.String
	case Bigint:
		return t.Kind() == reflect.Int64
	case Integer:
		return t.Kind() == reflect.Int32 || t.Kind() == reflect.Int64
	case Bool:
		return t.Kind() == reflect.Bool
	case Double:
		return t.Kind() == reflect.Float64
	case Timestamptz, Date:
		return t == reflect.TypeFor[time.Time]()
	case Bytea:
		return t == reflect.TypeFor[[]byte]()
	default: // what JSON becomes is for encoding/json to say
		return c.Type == Jsonb
	}
}
