package voices_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	voicesevents "github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/projections/voices"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 11, 22, 12, 30, 15, 123_456_000, time.UTC)

var suite = feedtest.Suite{
	Events:      voicesevents.Events(),
	Projections: voices.ReadModels(),
}

func TestReleasedReadModels(t *testing.T) { suite.RequireReleased(t) }
