package pronunciations_test

import (
	"testing"
	"time"

	"github.com/recital-tts/recital/commands/pronunciations"
	"github.com/recital-tts/recital/domain/pronunciation"
	"github.com/recital-tts/recital/internal/events/eventlog/eventtest"
)

func TestEventsAreReadForEver(t *testing.T) {
	const entry = "3f0e0e0a-6f6e-4c0e-9d5a-0c3d1f7f2b11"
	noon := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	eventtest.Golden(t, pronunciations.Events(),
		eventtest.Of("pronunciation-set", 1, pronunciation.Set{Account: "a1", Entry: entry, Sealed: []byte("\x01sealed"),
			At: noon}),
		eventtest.Of("pronunciation-removed", 1, pronunciation.Removed{Account: "a1", Entry: entry, At: noon}),
		eventtest.Of("pronunciations-snapshot-taken", 1, pronunciation.SnapshotTaken{Account: "a1", At: noon,
			Entries: []pronunciation.Entry{{ID: entry, Sealed: []byte("\x01sealed"), At: noon}}}),
	)
}
