package packages_test

import (
	"testing"
	"time"

	"github.com/recital-tts/recital/commands/packages"
	"github.com/recital-tts/recital/domain/voicepackage"
	"github.com/recital-tts/recital/internal/events/eventlog/eventtest"
)

func TestEventsAreReadForEver(t *testing.T) {
	noon := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	eventtest.Golden(t, packages.Events(),
		eventtest.Of("voice-package-installed", 1, voicepackage.Installed{
			Voice: "joe", SHA256: "ab12", Blob: "package-ab12.ab12", Size: 1024, Name: "Joe", Gender: "M",
			Description: "A calm voice.", Languages: []string{"en-us"}, Licence: "CC0-1.0", Attribution: "Joe (Thorsten)",
			Commercial: "yes", Base: "lessac", Source: "https://example.com/joe", Gain: -2.5, Cost: 0.09, At: noon,
		}),
		eventtest.Of("voice-package-installed", 1, voicepackage.Installed{
			Voice: "jenny", SHA256: "cd34", Blob: "package-cd34.cd34", Size: 1024, Name: "Jenny (Dioco)", Gender: "F",
			Languages: []string{"en-gb"}, Licence: "Jenny (Dioco)", Commercial: "unknown", OwnName: true, Gain: 5,
			Cost: 0.09, At: noon,
		}).As("named"),
		eventtest.Of("voice-package-installed", 1, voicepackage.Installed{
			Voice: "heart", SHA256: "ef56", Blob: "package-ef56.ef56", Size: 1024, Name: "Heart", Gender: "F",
			Languages: []string{"en-us"}, Licence: "Apache-2.0", Commercial: "yes", Gain: 5, Cost: 0.5,
			Sound: `{"speech":12}`, At: noon,
		}).As("measured"),
		eventtest.Of("voice-package-removed", 1, voicepackage.Removed{Voice: "joe", At: noon}),
		eventtest.Of("voice-package-assigned", 1, voicepackage.Assigned{System: "leah", Voice: "joe", At: noon}),
	)
}
