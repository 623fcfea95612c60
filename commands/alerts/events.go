package alerts

import (
	"slices"

	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Events are the event types of alerts.
func Events() []eventlog.Type {
	return slices.Concat(
		eventlog.In(alert.Stream,
			eventlog.Define[alert.Raised]("alert-raised", 1),
			eventlog.Define[alert.Cleared]("alert-cleared", 1)),
		eventlog.In(alert.ConditionPrefix,
			eventlog.Define[alert.ConditionRaised]("condition-raised", 1),
			eventlog.Define[alert.ConditionCleared]("condition-cleared", 1)))
}
