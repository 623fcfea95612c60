package voices

import (
	"slices"

	"github.com/recital-tts/recital/domain/roster"
	"github.com/recital-tts/recital/domain/star"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Events returns the event types of voices.
func Events() []eventlog.Type {
	return slices.Concat(
		eventlog.In(voice.StreamPrefix,
			eventlog.Define[voice.Created]("voice-created", 1),
			eventlog.Define[voice.Changed]("voice-changed", 1),
			eventlog.Define[voice.Queued]("voice-queued", 1),
			eventlog.Define[voice.TrainingBegun]("voice-training-begun", 1),
			eventlog.Define[voice.Analysed]("voice-analysed", 1),
			eventlog.Define[voice.Ready]("voice-ready", 1),
			eventlog.Define[voice.Broken]("voice-broken", 1),
			eventlog.Define[voice.Cancelled]("voice-cancelled", 1),
			eventlog.Define[voice.Deleted]("voice-deleted", 1),
			eventlog.Define[voice.Erased]("voice-erased", 1),
			eventlog.Define[voice.Abandoned]("voice-abandoned", 1),
			eventlog.Define[voice.PreviewRendered]("voice-preview-rendered", 1),
			eventlog.Define[voice.PreviewInvalidated]("voice-preview-invalidated", 1),
			eventlog.Define[voice.SnapshotTaken]("voice-snapshot-taken", 1),
		),
		eventlog.In(roster.StreamPrefix,
			eventlog.Define[roster.PlaceTaken]("voice-place-taken", 1),
			eventlog.Define[roster.PlaceFreed]("voice-place-freed", 1),
			eventlog.Define[roster.Ended]("voices-ended", 1),
			eventlog.Define[roster.SnapshotTaken]("voices-snapshot-taken", 1),
		),
		eventlog.In(star.StreamPrefix,
			eventlog.Define[star.Starred]("voice-starred", 1),
			eventlog.Define[star.Unstarred]("voice-unstarred", 1),
			eventlog.Define[star.SnapshotTaken]("stars-snapshot-taken", 1),
		),
	)
}
