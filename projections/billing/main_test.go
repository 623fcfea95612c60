package billing_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	billingevents "github.com/recital-tts/recital/commands/billing"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/projections/billing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 3, 10, 12, 30, 15, 123_456_000, time.UTC)

var suite = feedtest.Suite{
	Events:      billingevents.Events(),
	Projections: billing.ReadModels(),
}

func TestReleasedReadModels(t *testing.T) { suite.RequireReleased(t) }
