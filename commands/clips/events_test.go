package clips_test

import (
	"testing"
	"time"

	"github.com/recital-tts/recital/commands/clips"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/events/eventlog/eventtest"
)

func TestEventsAreReadForEver(t *testing.T) {
	const (
		id   = "0123456789abcdef0123456789abcdef"
		blob = "clip-" + id + ".00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	)
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	saved := clip.Saved{
		Clip: id, Account: "a1", Voice: "leah", Language: "en-us", Speed: 1.25, Format: "mp3", SampleRate: 24000,
		MediaType:  "audio/mpeg",
		Characters: 12, Milliseconds: 1_480, Blob: blob, Bytes: 9_216, Seed: 42, Debug: true, Sealed: []byte("\x01sealed"),
		At: noon,
		Settings: clip.Settings{
			Model: "aurora", Conversational: new(true), Temperature: new(0.5), TopK: new(40), TopP: new(0.8),
			Length: new(1.5), Expressive: new(0.25), Quality: new(2),
		},
	}
	eventtest.Golden(t, clips.Events(),
		eventtest.Of("clip-saved", 1, saved),
		eventtest.Of("clip-deleted", 1, clip.Deleted{Clip: id, Account: "a1", Blob: blob, At: noon}),
	)
}
