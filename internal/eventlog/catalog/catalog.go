// Package catalog is the one list of every event type that this binary writes and reads.
package catalog

import (
	"slices"

	"github.com/recital-tts/recital/internal/eventlog"
)

// Registry holds every event type. A new type, or a new version of one, also gets an example and a golden file; see
// the package's test.
func Registry() (*eventlog.Registry, error) {
	return eventlog.NewRegistry(slices.Concat(
		logTypes(),
	)...)
}

func logTypes() []eventlog.Type {
	return []eventlog.Type{eventlog.LogOpenedType()}
}
