package hosting

import (
	"github.com/recital-tts/recital/domain/hosting"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Events returns the event types of connections and variables at the hosting platform.
func Events() []eventlog.Type {
	return eventlog.In(hosting.StreamPrefix,
		eventlog.Define[hosting.Connected]("hosting-connected", 1),
		eventlog.Define[hosting.VariableBegun]("hosting-variable-begun", 1),
		eventlog.Define[hosting.VariableSet]("hosting-variable-set", 1),
		eventlog.Define[hosting.VariableRemovalBegun]("hosting-variable-removal-begun", 1),
		eventlog.Define[hosting.VariableRemoved]("hosting-variable-removed", 1),
		eventlog.Define[hosting.Ended]("hosting-ended", 1),
	)
}
