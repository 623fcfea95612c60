package accounts_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	accountsevents "github.com/recital-tts/recital/commands/accounts"
	billingevents "github.com/recital-tts/recital/commands/billing"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/projections/accounts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 3, 10, 12, 30, 15, 123_456_000, time.UTC)

func registry(t testing.TB) *eventlog.Registry {
	t.Helper()
	return feedtest.Registry(t, accountsevents.Events(), billingevents.Events())
}

func newWorld(t testing.TB) *feedtest.World {
	t.Helper()
	return feedtest.New(t, registry(t), accounts.ReadModels()...)
}

func TestReleasedReadModels(t *testing.T) {
	feedtest.RequireReleased(t, registry(t), accounts.ReadModels()...)
}
