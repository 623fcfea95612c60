package ledger_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	accountsevents "github.com/recital-tts/recital/commands/accounts"
	ledgerevents "github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	projection "github.com/recital-tts/recital/projections/ledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 3, 10, 12, 30, 15, 123_456_000, time.UTC)

func registry(t testing.TB) *eventlog.Registry {
	t.Helper()
	return feedtest.Registry(t, ledgerevents.Events(), accountsevents.Events())
}

func newWorld(t testing.TB) *feedtest.World {
	t.Helper()
	return feedtest.New(t, registry(t), projection.ReadModels()...)
}

func TestReleasedReadModels(t *testing.T) {
	feedtest.RequireReleased(t, registry(t), projection.ReadModels()...)
}
