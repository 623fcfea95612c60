package web

import (
	"fmt"
	"reflect"

	"github.com/recital-tts/recital/internal/http/web/bind"
)

// Decoder returns a function that binds JSON documents as the bodies of routes are bound; package bind explains the tags.
// Its errors say what a 422 would. Wrong tags panic, which is seen at the first start.
func Decoder[In any](variant bind.Variant) func(document []byte) (In, error) {
	plan, err := variant.Compile(reflect.TypeFor[In]())
	if err != nil {
		panic(fmt.Sprintf("making a decoder: %v", err))
	}
	return func(document []byte) (in In, err error) {
		items, err := plan.Bind(reflect.ValueOf(&in).Elem(), &bind.Request{ContentType: "application/json", Body: document})
		if err != nil {
			return in, fmt.Errorf("decoding a document: %w", err)
		}
		if len(items) > 0 {
			return in, Invalid(items...)
		}
		return in, nil
	}
}
