package ledger_test

import (
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	accountsevents "github.com/recital-tts/recital/commands/accounts"
	ledgerevents "github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	projection "github.com/recital-tts/recital/projections/ledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 3, 10, 12, 30, 15, 123_456_000, time.UTC)

var suite = feedtest.Suite{
	Events:      slices.Concat(ledgerevents.Events(), accountsevents.Events()),
	Projections: projection.ReadModels(),
}

func TestReleasedReadModels(t *testing.T) { suite.RequireReleased(t) }
