package clips_test

import (
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/recital-tts/recital/commands/accounts"
	clipsevents "github.com/recital-tts/recital/commands/clips"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/projections/clips"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 3, 10, 12, 30, 15, 123_456_000, time.UTC)

var suite = feedtest.Suite{
	Events:      slices.Concat(clipsevents.Events(), accounts.Events()),
	Projections: clips.ReadModels(),
}

func TestReleasedReadModels(t *testing.T) {
	suite.RequireReleased(t)
	formerSuite.RequireReleased(t)
}
