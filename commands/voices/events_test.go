package voices_test

import (
	"testing"
	"time"

	"github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/roster"
	"github.com/recital-tts/recital/domain/star"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/events/eventlog/eventtest"
)

func TestEventsAreReadForEver(t *testing.T) {
	const (
		id, a = "9c4a8f2b3e1d7c40", "a1"
		blob  = "voice-" + id + ".00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
		hash  = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	)
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	recordings := []voice.Recording{{Blob: blob, Bytes: 960_044, SHA256: hash}}
	analysis := voice.Analysis{Recording: 1, From: 120_000, Length: 60_000, Speech: 41_250, Blob: blob}
	model := voice.Model{Engine: "formant/1", Blob: blob, SHA256: hash, Bytes: 812}
	preview := voice.Preview{Blob: blob, SHA256: hash, Bytes: 9_216}
	eventtest.Golden(t, voices.Events(),
		eventtest.Of("voice-created", 1, voice.Created{
			Voice: id, Account: a, Type: voice.Professional, Sealed: []byte("\x01sealed"), Enhance: true, Filter: true,
			Recordings: recordings, At: noon}),
		eventtest.Of("voice-changed", 1, voice.Changed{Voice: id, Account: a, Sealed: []byte("\x02sealed"), At: noon}),
		eventtest.Of("voice-queued", 1, voice.Queued{Voice: id, Account: a, Lengths: []int64{301_500, 180_000}, At: noon}),
		eventtest.Of("voice-training-begun", 1, voice.TrainingBegun{Voice: id, Account: a, At: noon}),
		eventtest.Of("voice-analysed", 1, voice.Analysed{Voice: id, Account: a, Analysis: analysis, Done: 5, Total: 6,
			At: noon}),
		eventtest.Of("voice-ready", 1, voice.Ready{Voice: id, Account: a, Model: model, At: noon}),
		eventtest.Of("voice-ready", 1, voice.Ready{Voice: id, Account: a, At: noon, Model: voice.Model{
			Engine: "formant/1", Blob: blob, SHA256: hash, Bytes: 1624, Base: "heart",
		}}).As("installed"),
		eventtest.Of("voice-broken", 1, voice.Broken{Voice: id, Account: a, Reason: "too_long",
			Message: "The recording is too long", At: noon}),
		eventtest.Of("voice-cancelled", 1, voice.Cancelled{Voice: id, Account: a, At: noon}),
		eventtest.Of("voice-deleted", 1, voice.Deleted{Voice: id, Account: a, At: noon}),
		eventtest.Of("voice-erased", 1, voice.Erased{Voice: id, Account: a, At: noon}),
		eventtest.Of("voice-abandoned", 1, voice.Abandoned{Voice: id, Account: a, At: noon}),
		eventtest.Of("voice-preview-rendered", 1, voice.PreviewRendered{Voice: id, Account: a, Preview: preview, At: noon}),
		eventtest.Of("voice-preview-invalidated", 1, voice.PreviewInvalidated{Voice: id, Account: a, Blob: blob, At: noon}),
		eventtest.Of("voice-snapshot-taken", 1, voice.SnapshotTaken{At: noon, Facts: voice.Facts{
			Voice: id, Account: a, Type: voice.Professional, Phase: voice.Speaking, Sealed: []byte("\x02sealed"), Enhance: true,
			Filter:     true,
			Recordings: recordings, Lengths: []int64{301_500}, Analyses: []voice.Analysis{analysis}, Model: model,
			Preview: preview, CreatedAt: noon,
			Reason: "too_long", Message: "The recording is too long", Deleted: true, Erased: true, Abandoned: true,
		}}),
		eventtest.Of("voice-place-taken", 1, roster.PlaceTaken{Account: a, Voice: id, Type: voice.Instant,
			Repetition: domain.Repetition{Key: hash, Content: hash}, At: noon}),
		eventtest.Of("voice-place-freed", 1, roster.PlaceFreed{Account: a, Voice: id, Type: voice.Instant, Abandoned: true,
			At: noon}),
		eventtest.Of("voices-ended", 1, roster.Ended{Account: a, At: noon}),
		eventtest.Of("voices-snapshot-taken", 1, roster.SnapshotTaken{At: noon, Facts: roster.Facts{
			Account: a, Places: []roster.Place{{Voice: id, Type: voice.Professional}},
			Requests: []roster.Request{{Repetition: domain.Repetition{Key: hash, Content: hash}, Voice: id, At: noon}},
			Ended:    true,
		}}),
		eventtest.Of("voice-starred", 1, star.Starred{Account: a, Voice: "leah", At: noon}),
		eventtest.Of("voice-unstarred", 1, star.Unstarred{Account: a, Voice: "leah", At: noon}),
		eventtest.Of("stars-snapshot-taken", 1, star.SnapshotTaken{Account: a, Voices: []string{"leah", id}, At: noon}),
	)
}
