package sessions

import (
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Events returns the event types of sessions.
func Events() []eventlog.Type {
	return eventlog.In(session.StreamPrefix,
		eventlog.Define[session.Opened]("session-opened", 1),
		eventlog.Define[session.Seen]("session-seen", 1),
		eventlog.Define[session.Rotated]("session-rotated", 1),
		eventlog.Define[session.Ended]("session-ended", 1),
	)
}
