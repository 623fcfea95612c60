package alerts

import (
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/eventlog"
)

// Events are the event types of alerts.
func Events() []eventlog.Type {
	return eventlog.In(alert.Stream, eventlog.Define[alert.Raised]("alert-raised", 1))
}
