package bind

import (
	"fmt"
	"reflect"
)

// EachHeader calls set with the name and the text of each field of a struct that is tagged as a header, except for nil
// pointers. It is the reverse of binding, for replies.
func EachHeader(from reflect.Value, set func(name, text string)) {
	for _, f := range reflect.VisibleFields(from.Type()) {
		name := f.Tag.Get("header")
		if name == "" {
			continue
		}
		value := from.FieldByIndex(f.Index)
		if value.Kind() == reflect.Pointer {
			if value.IsNil() {
				continue
			}
			value = value.Elem()
		}
		set(name, fmt.Sprint(value.Interface()))
	}
}
