package table

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"
)

// kind is the type of a column, and the type of its values in an unnested array.
type kind struct{ column, parameter string }

var (
	text        = kind{"text", "text"}
	bigint      = kind{"bigint", "bigint"}
	integer     = kind{"integer", "bigint"}
	boolean     = kind{"boolean", "boolean"}
	timestamptz = kind{"timestamptz", "timestamptz"}
	date        = kind{"date", "date"}
	jsonb       = kind{"jsonb", "text"}
	bytea       = kind{"bytea", "bytea"}
	double      = kind{"double precision", "double precision"}
)

// column is a column of a table.
type column struct {
	name string
	kind kind
	key  bool // part of the primary key
	null bool // may be NULL

	// convert returns the value of a field as the one Go type that the column's statements take: string (text, jsonb),
	// int64 (bigint, integer), float64, bool, time.Time or []byte. The field is addressable. Errors never quote the
	// value.
	convert func(field reflect.Value) (any, error)
}

func (c column) number() bool { return c.kind == bigint || c.kind == integer }

// value returns the argument of the column's statements for a field: nil for NULL, otherwise the result of convert.
func (c *column) value(field reflect.Value) (any, error) {
	if c.null {
		switch field.Kind() {
		case reflect.Pointer:
			if field.IsNil() {
				return nil, nil
			}
			field = field.Elem()
		case reflect.Slice, reflect.Map:
			if field.IsNil() {
				return nil, nil
			}
		}
	}
	v, err := c.convert(field)
	if err != nil {
		return nil, fmt.Errorf("column %s: %w", c.name, err)
	}
	return v, nil
}

var (
	timeType          = reflect.TypeFor[time.Time]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
)

// typed sets the properties that follow from the type of the column's field and the format of its tag.
func (c *column) typed(t reflect.Type, format string) error {
	if t.Kind() == reflect.Pointer {
		c.null, t = true, t.Elem()
	}
	switch {
	case format == "json":
		c.kind, c.convert = jsonb, jsonValue
	case format == "date" && t == timeType:
		c.kind, c.convert = date, dateValue
	case format != "":
		return fmt.Errorf("a %s is no %s", t, format)
	case t == timeType:
		c.kind, c.convert = timestamptz, timeValue
	case reflect.PointerTo(t).Implements(textMarshalerType):
		c.kind, c.convert = text, marshalledText
	default:
		return c.ofKind(t)
	}
	return nil
}

func (c *column) ofKind(t reflect.Type) error {
	switch t.Kind() {
	case reflect.String:
		c.kind, c.convert = text, func(v reflect.Value) (any, error) { return v.String(), nil }
	case reflect.Bool:
		c.kind, c.convert = boolean, func(v reflect.Value) (any, error) { return v.Bool(), nil }
	case reflect.Int32:
		c.kind, c.convert = integer, func(v reflect.Value) (any, error) { return v.Int(), nil }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int64:
		c.kind, c.convert = bigint, func(v reflect.Value) (any, error) { return v.Int(), nil }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		c.kind, c.convert = bigint, unsignedValue
	case reflect.Float64:
		c.kind, c.convert = double, func(v reflect.Value) (any, error) { return v.Float(), nil }
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			return fmt.Errorf("there is no column for a %s", t)
		}
		c.kind, c.convert = bytea, bytesValue
	default:
		return fmt.Errorf("there is no column for a %s", t)
	}
	return nil
}

func unsignedValue(v reflect.Value) (any, error) {
	if v.Uint() > math.MaxInt64 {
		return nil, errors.New("the integer is out of range")
	}
	return int64(v.Uint()), nil
}

func marshalledText(v reflect.Value) (any, error) {
	marshalled, err := v.Addr().Interface().(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return nil, fmt.Errorf("a %s does not marshal to text", v.Type())
	}
	return string(marshalled), nil
}

func timeValue(v reflect.Value) (any, error) {
	return v.Addr().Interface().(*time.Time).UTC().Truncate(time.Microsecond), nil
}

func dateValue(v reflect.Value) (any, error) {
	year, month, day := v.Addr().Interface().(*time.Time).Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC), nil
}

func jsonValue(v reflect.Value) (any, error) {
	marshalled, err := json.Marshal(v.Addr().Interface())
	if err != nil {
		return nil, fmt.Errorf("a %s does not marshal to JSON", v.Type())
	}
	return string(marshalled), nil
}

// bytesValue returns a copy, because the event may be changed before the page is written. The copy is never nil, which
// would be NULL.
func bytesValue(v reflect.Value) (any, error) { return append([]byte{}, v.Bytes()...), nil }
