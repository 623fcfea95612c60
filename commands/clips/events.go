package clips

import (
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Events returns the event types of clips.
func Events() []eventlog.Type {
	return eventlog.In(clip.StreamPrefix,
		eventlog.Define[clip.Saved]("clip-saved", 1),
		eventlog.Define[clip.Deleted]("clip-deleted", 1),
	)
}
