package feedback_test

import (
	"testing"
	"time"

	commands "github.com/recital-tts/recital/commands/feedback"
	"github.com/recital-tts/recital/domain/feedback"
	"github.com/recital-tts/recital/internal/events/eventlog/eventtest"
)

func TestEventsAreReadForEver(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	eventtest.Golden(t, commands.Events(), eventtest.Example{
		Name: "feedback-given", Version: 1,
		Event: feedback.Given{Feedback: "f1", Account: "a1", Rating: feedback.ThumbsDown, Sealed: []byte("\x01sealed"),
			At: noon},
	})
}
