package packages

import (
	"github.com/recital-tts/recital/domain/voicepackage"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// Events returns the event types of packages of voices.
func Events() []eventlog.Type {
	return eventlog.In(voicepackage.Stream,
		eventlog.Define[voicepackage.Installed]("voice-package-installed", 1),
		eventlog.Define[voicepackage.Removed]("voice-package-removed", 1),
		eventlog.Define[voicepackage.Assigned]("voice-package-assigned", 1),
	)
}
