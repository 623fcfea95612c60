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

// value brings what a projection gives for a column to the one Go type that the column's statements take: string
// (Text, Jsonb), int64 (Bigint, Integer), bool, time.Time, []byte, or nil. Its errors never quote the value.
func (c Column) value(given any) (any, error) {
	if c.missing(given) {
		if !c.Null {
			return nil, fmt.Errorf("column %s must have a value", c.Name)
		}
		return nil, nil
	}
	v, err := c.convert(given)
	if err != nil {
		return nil, fmt.Errorf("column %s: %w", c.Name, err)
	}
	return v, nil
}

// missing tells a nil, a nil pointer and, where NULL is permitted, a nil slice or map, so that optional fields of events
// can be passed on as they are.
func (c Column) missing(given any) bool {
	if given == nil {
		return true
	}
	switch v := reflect.ValueOf(given); v.Kind() {
	case reflect.Pointer:
		return v.IsNil()
	case reflect.Slice, reflect.Map:
		return c.Null && v.IsNil()
	default:
		return false
	}
}

func (c Column) convert(given any) (any, error) {
	if v := reflect.ValueOf(given); v.Kind() == reflect.Pointer && c.Type != Jsonb {
		given = v.Elem().Interface()
	}
	switch c.Type {
	case Text:
		return textValue(given)
	case Bigint:
		return integerValue(given, math.MinInt64, math.MaxInt64)
	case Integer:
		return integerValue(given, math.MinInt32, math.MaxInt32)
	case Bool:
		return boolValue(given)
	case Timestamptz:
		return timeValue(given, func(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) })
	case Date:
		return timeValue(given, func(t time.Time) time.Time {
			return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
		})
	case Jsonb:
		return jsonValue(given)
	case Bytea:
		return bytesValue(given)
	default:
		return nil, errors.New("unknown type")
	}
}

func textValue(given any) (any, error) {
	switch v := given.(type) {
	case string:
		return v, nil
	case encoding.TextMarshaler:
		text, err := v.MarshalText()
		if err != nil {
			return nil, fmt.Errorf("a %T does not marshal to text", given)
		}
		return string(text), nil
	}
	if v := reflect.ValueOf(given); v.Kind() == reflect.String {
		return v.String(), nil
	}
	return nil, fmt.Errorf("a %T is no text", given)
}

func integerValue(given any, low, high int64) (any, error) {
	var n int64
	switch v := reflect.ValueOf(given); {
	case v.CanInt():
		n = v.Int()
	case v.CanUint() && v.Uint() <= math.MaxInt64:
		n = int64(v.Uint())
	default:
		return nil, fmt.Errorf("a %T is no integer of 64 bits", given)
	}
	if n < low || n > high {
		return nil, errors.New("the integer is out of range")
	}
	return n, nil
}

func boolValue(given any) (any, error) {
	if v := reflect.ValueOf(given); v.Kind() == reflect.Bool {
		return v.Bool(), nil
	}
	return nil, fmt.Errorf("a %T is no bool", given)
}

func timeValue(given any, cut func(time.Time) time.Time) (any, error) {
	t, ok := given.(time.Time)
	if !ok {
		return nil, fmt.Errorf("a %T is no time", given)
	}
	return cut(t), nil
}

func jsonValue(given any) (any, error) {
	var raw []byte
	switch v := given.(type) {
	case json.RawMessage:
		raw = v
	case []byte:
		raw = v
	case string:
		raw = []byte(v)
	default:
		marshalled, err := json.Marshal(given)
		if err != nil {
			return nil, fmt.Errorf("a %T does not marshal to JSON", given)
		}
		return string(marshalled), nil
	}
	if !json.Valid(raw) {
		return nil, errors.New("the JSON is malformed")
	}
	return string(raw), nil
}

func bytesValue(given any) (any, error) {
	if v := reflect.ValueOf(given); v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
		return append([]byte{}, v.Bytes()...), nil // never nil, which would be NULL
	}
	return nil, fmt.Errorf("a %T is no byte slice", given)
}
