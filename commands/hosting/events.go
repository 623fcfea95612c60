package hosting

import (
	"encoding/json"

	"github.com/recital-tts/recital/domain/hosting"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Events returns the event types of what accounts have at the hosting platform.
func Events() []eventlog.Type {
	return eventlog.In(hosting.StreamPrefix,
		eventlog.Define[hosting.Connected]("hosting-connected", 1),
		eventlog.Define[hosting.VariableBegun]("hosting-variable-begun", 2, namedInClear),
		eventlog.Define[hosting.VariableSet]("hosting-variable-set", 1),
		eventlog.Define[hosting.VariableRemovalBegun]("hosting-variable-removal-begun", 1),
		eventlog.Define[hosting.VariableRemoved]("hosting-variable-removed", 1),
		eventlog.Define[hosting.Ended]("hosting-ended", 1),
	)
}

// namedInClear upcasts version 1 of hosting-variable-begun, which has the name of the project in clear: it reads as it is.
// Releases that know no other one stop at version 2: they could not find a variable by its project's name, and would leave it.
func namedInClear(data json.RawMessage) (json.RawMessage, error) { return data, nil }
