package notices

import (
	"github.com/recital-tts/recital/domain/notice"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Events returns the event types of notices.
func Events() []eventlog.Type {
	return eventlog.In(notice.StreamPrefix,
		eventlog.Define[notice.Ended]("notice-ended", 1),
		eventlog.Define[notice.LimitReached]("notice-limit-reached", 1),
	)
}
