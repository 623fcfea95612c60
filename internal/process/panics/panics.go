// Package panics makes errors of panics, which hold no more than may be logged.
package panics

import (
	"errors"
	"fmt"
	"runtime"
)

// Error returns the error of a panic in what was being done. It has the text of the panics of Go's runtime only: what
// others panic with may quote personal data.
func Error(doing string, cause any) error {
	if err, ok := cause.(runtime.Error); ok {
		return fmt.Errorf("%s panicked: %w", doing, err)
	}
	return errors.New(doing + " panicked")
}
