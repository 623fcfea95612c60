package sessions_test

import (
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	accountsevents "github.com/recital-tts/recital/commands/accounts"
	sessionsevents "github.com/recital-tts/recital/commands/sessions"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/projections/sessions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 3, 10, 12, 30, 15, 123_456_000, time.UTC)

var suite = feedtest.Suite{
	Events:      slices.Concat(accountsevents.Events(), sessionsevents.Events()),
	Projections: sessions.ReadModels(),
}

func TestReleasedReadModels(t *testing.T) { suite.RequireReleased(t) }
