package skips

import (
	"github.com/recital-tts/recital/domain/skip"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Events returns the event types of skips.
func Events() []eventlog.Type {
	return eventlog.In(eventlog.SkipsStream,
		eventlog.Define[skip.EventSkipped]("event-skipped", 1),
		eventlog.Define[skip.EventUnskipped]("event-unskipped", 1),
		eventlog.Define[skip.SkipConfirmed]("skip-confirmed", 1),
	)
}
