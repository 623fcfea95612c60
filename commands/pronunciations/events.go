package pronunciations

import (
	"github.com/recital-tts/recital/domain/pronunciation"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Events returns the event types of pronunciations.
func Events() []eventlog.Type {
	return eventlog.In(pronunciation.StreamPrefix,
		eventlog.Define[pronunciation.Set]("pronunciation-set", 1),
		eventlog.Define[pronunciation.Removed]("pronunciation-removed", 1),
		eventlog.Define[pronunciation.SnapshotTaken]("pronunciations-snapshot-taken", 1),
	)
}
