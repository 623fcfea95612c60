// Package panics converts panics to errors that may be logged.
package panics

import (
	"errors"
	"fmt"
	"runtime"
)

// Error returns an error for a panic during an activity. It includes the text only of panics of Go's runtime, because
// others may quote personal data.
func Error(doing string, cause any) error {
	if err, ok := cause.(runtime.Error); ok {
		return fmt.Errorf("%s panicked: %w", doing, err)
	}
	return errors.New(doing + " panicked")
}
