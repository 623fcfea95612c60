package feedback

import (
	"github.com/recital-tts/recital/domain/feedback"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Events returns the event types of feedback.
func Events() []eventlog.Type {
	return eventlog.In(feedback.StreamPrefix, eventlog.Define[feedback.Given]("feedback-given", 1))
}
