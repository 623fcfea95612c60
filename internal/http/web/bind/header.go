package bind

import (
	"fmt"
	"reflect"
)

// EachHeader calls set with the name and the text of each field of a struct that is tagged as a header, except for nil
// pointers. It is the reverse of binding, for replies.
func EachHeader(from reflect.Value, set func(name, text string)) {
	for field, value := range from.Fields() {
		name := field.Tag.Get("header")
		if value.Kind() == reflect.Pointer {
			value = value.Elem() // not valid for nil
		}
		switch {
		case field.Anonymous:
			EachHeader(value, set)
		case name == "" || !value.IsValid():
		case value.Kind() == reflect.String:
			set(name, value.String())
		default:
			set(name, fmt.Sprint(value.Interface()))
		}
	}
}
