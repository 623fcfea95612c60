package clips

import (
	"encoding/json"

	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Events returns the event types of clips.
func Events() []eventlog.Type {
	return eventlog.In(clip.StreamPrefix,
		eventlog.Define[clip.Saved]("clip-saved", 2, audioInClear),
		eventlog.Define[clip.AudioSealed]("clip-audio-sealed", 1),
		eventlog.Define[clip.Deleted]("clip-deleted", 1),
	)
}

// audioInClear upcasts version 1 of clip-saved, from before audio was sealed: without a word about it, it reads as it is.
func audioInClear(data json.RawMessage) (json.RawMessage, error) { return data, nil }
